import { expect, test } from 'vitest';
import { isFailing } from './series';
import type { Series } from './wire';

const series = (state: string, oks: boolean[]): Series =>
  ({
    state,
    failed: oks.filter((ok) => !ok).length,
    results: oks.map((ok) => ({ command: 'true', ok, skipped: false, preview: '' })),
  }) as unknown as Series;

test('it is red from the first failure on', () => {
  expect(isFailing(series('running', [true]))).toBe(false);
  expect(isFailing(series('running', [true, false]))).toBe(true);
  expect(isFailing(series('running', [false, true]))).toBe(true);
});

test('a failure that was fixed is not the result', () => {
  expect(isFailing(series('done', [true, false, true]))).toBe(false);
  expect(isFailing(series('done', [true, false]))).toBe(true);
});
