import { expect, test } from 'vitest';
import type { Operation } from './assistant';
import { action, outcome, type Preview } from './taskPreview';
import rows from './taskPreview.json';

test('browser and terminal show the same preview', () => {
  for (const row of rows as unknown as { op: Operation; preview: Preview; action: string; shown: string }[]) {
    expect(action(row.op)).toBe(row.action);
    expect(outcome(row.preview, row.op)).toBe(row.shown);
  }
});
