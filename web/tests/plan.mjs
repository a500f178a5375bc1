// A plan is edited in the page, and what was edited is what is carried out.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse } from './browse.mjs';

await browse(async ({ page }) => {
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await begin(page, 'Compare two files');
  const question = page.getByRole('region', { name: /Approve this plan of 2 steps\?/ });
  await question.waitFor();
  await accessible(page, 'a plan');
  await question.getByRole('button', { name: 'Move step 2 up' }).click();
  await question.getByRole('button', { name: 'Edit step 2' }).click();
  await question.getByLabel('Title of step 2').fill('Write a, edited');
  await question.getByRole('button', { name: 'Done' }).click();
  await becomes(() => question.getByRole('button', { name: 'Approve' }).isDisabled(), true, 'edits are not passed over');
  await question.getByRole('button', { name: 'Modify' }).click();
  const edited = page.getByRole('region', { name: /Approve this plan of 2 steps\?/ });
  await edited.getByText('2. Write a, edited').waitFor();
  await page.getByRole('region', { name: /plan/ }).getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('log').getByText('✓ Done').waitFor();
});
