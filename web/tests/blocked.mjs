// The changes of two workers cannot be merged: one writes a file where the other needs a folder. The person discards the
// changes, merges again, and merges without either of them.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { accessible, becomes, begin, browse, say } from './browse.mjs';

const folder = process.argv[3];
const shots = process.env.TRIMTAB_SHOTS;

await browse(async ({ page }) => {
  const start = () => page.getByRole('region', { name: /Execution Plan/ }).getByRole('button', { name: 'Start C' }).click();
  const blocked = page.getByRole('region', { name: /^The changes of the sub-tasks are not merged yet\./ });

  await begin(page, 'Write the first notes, in parallel');
  await start();
  await blocked.getByText('first cannot be a file and a folder at the same time.').waitFor();
  const text = await blocked.innerText();
  assert.ok(text.includes('Cannot be merged:') && text.includes('To merge them, leave out:'), text);
  await becomes(() => blocked.locator('li code').allInnerTexts(), ['first/notes.txt', 'first']);
  const labels = async () => (await blocked.getByRole('button').allInnerTexts()).map((label) => label.split('\n').at(-1));
  await becomes(labels, ['Merge again', 'Merge without first/notes.txt', 'Merge without first', 'Discard the changes']);
  await accessible(page, 'a merge that cannot be made');
  if (shots) {
    for (const [width, height] of [[390, 844], [1280, 800]]) {
      await page.setViewportSize({ width, height });
      await blocked.scrollIntoViewIfNeeded();
      await page.screenshot({ path: `${shots}/blocked-${width}.png` });
    }
  }
  // It is asked again as long as nothing has changed.
  await blocked.getByRole('button', { name: /^Merge again/ }).click();
  await blocked.getByText('first cannot be a file and a folder at the same time.').waitFor();
  await blocked.getByRole('button', { name: /^Merge without first\/notes\.txt/ }).click();
  await becomes(() => existsSync(`${folder}/first`) && readFileSync(`${folder}/first`, 'utf8'), 'a file\n');

  await say(page, 'Write the second notes, in parallel');
  await start();
  await blocked.getByRole('button', { name: /^Merge without second$/ }).click();
  await becomes(() => existsSync(`${folder}/second/notes.txt`) && readFileSync(`${folder}/second/notes.txt`, 'utf8'), 'in a folder\n');

  await say(page, 'Write the third notes, in parallel');
  await start();
  await blocked.getByRole('button', { name: /^Discard the changes/ }).click();
  await blocked.waitFor({ state: 'detached' });
  await page.getByRole('log').getByText('Cancelled').waitFor();
  assert.ok(!existsSync(`${folder}/third`), 'nothing of them is written');
});
