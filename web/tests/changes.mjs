// A change is seen, undone and brought back, and a later edit is not overwritten.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { accessible, begin, browse } from './browse.mjs';

const project = process.argv[3];
const file = path.join(project, 'poem.txt');
const until = async (wanted) => {
  for (let tries = 0; tries < 400; tries++) {
    if (wanted()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(`waited in vain: ${wanted}`);
};

await browse(async ({ page }) => {
  await begin(page, 'Change the poem', { trusts: true });
  await page.getByRole('log').getByText('✓ Done').waitFor();
  assert.equal(fs.readFileSync(file, 'utf8'), 'The cat sat\non the red mat\n', await page.getByRole('log').innerText());
  await page.getByRole('link', { name: /^Changes/ }).click();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  const diff = page.getByRole('region', { name: 'Changes of poem.txt' });
  await diff.waitFor();
  assert.deepEqual(await diff.locator('td.added mark').allInnerTexts(), ['red']);
  assert.deepEqual(await diff.locator('td.removed mark').allInnerTexts(), ['blue']);
  await accessible(page, 'the history of changes');

  await page.getByRole('button', { name: '↶ Undo' }).click();
  await page.getByText('undone', { exact: false }).first().waitFor();
  await until(() => fs.readFileSync(file, 'utf8') === 'The cat sat\non the blue mat\n');
  await page.getByRole('button', { name: '↷ Redo' }).click();
  await until(() => fs.readFileSync(file, 'utf8') === 'The cat sat\non the red mat\n');

  // The person edits the same line; undoing says so and touches nothing.
  fs.writeFileSync(file, 'The cat sat\non the green mat\n');
  await page.getByRole('button', { name: '↶ Undo' }).click();
  await page.getByRole('alert').filter({ hasText: 'Nothing was touched' }).waitFor();
  assert.equal(fs.readFileSync(file, 'utf8'), 'The cat sat\non the green mat\n');
});
