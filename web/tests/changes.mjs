// A change is seen, undone and brought back, and a later edit is not overwritten.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { accessible, becomes, begin, browse } from './browse.mjs';

const project = process.argv[3];
const file = path.join(project, 'poem.txt');
const content = () => fs.readFileSync(file, 'utf8');

await browse(async ({ page }) => {
  await begin(page, 'Change the poem', { trusts: true });
  await page.getByRole('log').getByText('✓ Done').waitFor();
  assert.equal(content(), 'The cat sat\non the red mat\n', await page.getByRole('log').innerText());
  await page.getByRole('link', { name: /^Changes/ }).click();
  await page.getByRole('heading', { name: 'Change History' }).waitFor();
  await becomes(async () => /^Change #1 - 1 file \(\+1 -1\)( - \$[\d.]+)? - \d+s ago$/.test((await page.locator('li.card .row').first().innerText()).split('\n').slice(0, 2).join(' ')), true);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  const diff = page.getByRole('region', { name: 'Changes of poem.txt' });
  await diff.waitFor();
  await becomes(() => diff.locator('td.added mark').allInnerTexts(), ['red']);
  await becomes(() => diff.locator('td.removed mark').allInnerTexts(), ['blue']);
  await accessible(page, 'the history of changes');

  await page.getByRole('button', { name: '◀ Rewind' }).click();
  await page.getByText('1 change, 1 undone').waitFor();
  await becomes(content, 'The cat sat\non the blue mat\n');
  await page.getByRole('button', { name: '▶ Forward' }).click();
  await page.getByText('1 change', { exact: true }).waitFor();
  await becomes(content, 'The cat sat\non the red mat\n');

  // The person edits the same line; undoing says so and touches nothing.
  fs.writeFileSync(file, 'The cat sat\non the green mat\n');
  await page.getByRole('button', { name: '◀ Rewind' }).click();
  await page.getByRole('alert').filter({ hasText: 'Nothing was changed' }).waitFor();
  assert.equal(content(), 'The cat sat\non the green mat\n');
});
