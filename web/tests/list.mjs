// Where a list is wished for, what the tools found stands below what the model says.

import assert from 'node:assert/strict';
import { accessible, begin, browse } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'Read poem.txt and sum it up');
  await log.getByText('✓ Done').waitFor();
  await log.getByText('A cat and a mat.').waitFor();
  await log.getByText('Based on the tool executions:').waitFor();
  assert.equal(await log.locator('article li').count(), 1, 'one finding for one call');
  await accessible(page, 'an answer with a list of findings');
});
