// Whether it is what was meant: done, done again with what the person says, or from the beginning.

import assert from 'node:assert/strict';
import { accessible, begin, browse } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'Write a');
  const asked = page.getByRole('region', { name: 'Does this result meet your needs?' });
  await asked.waitFor();
  assert.match(await asked.innerText(), /It is one\./, 'it says what was done');
  assert.equal(await asked.getByRole('button').count(), 3);
  await asked.getByRole('button', { name: 'Needs changes' }).click();
  await asked.getByRole('textbox').fill('It should be two');
  await accessible(page, 'whether it is what was meant');
  await page.keyboard.press('Enter');
  await log.getByText('It is two.').waitFor();
  await asked.getByRole('button', { name: 'Yes, done' }).click();
  await log.getByText('✓ Done').waitFor();
  await log.getByText('“It should be two”').waitFor();

  // The same by hand: the change is undone in the conversation's own words.
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: /^Open the changes/ }).first().click();
  await page.waitForURL(/changes$/);
});
