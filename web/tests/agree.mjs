// Questions before the work, a plan with dependencies, and stops between its steps.

import assert from 'node:assert/strict';
import { accessible, begin, browse } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'Make the service ready for customers');

  // Chips: several at once, and a reload forgets none of them.
  const asked = page.getByRole('region', { name: '2 questions before we start.' });
  await asked.waitFor();
  await accessible(page, 'questions');
  const places = asked.getByRole('group', { name: /Which databases\?/ });
  assert.equal(await places.getByRole('button', { pressed: false }).count(), 3);
  await places.getByRole('button', { name: 'Database 3' }).click();
  await places.getByRole('button', { name: 'Database 1' }).click();
  await asked.getByRole('group', { name: /For whom\?/ }).getByRole('textbox').fill('the team');
  await page.reload();
  await asked.waitFor();
  assert.deepEqual(await places.getByRole('button', { pressed: true }).allInnerTexts(), ['Database 1', 'Database 3']);
  await asked.getByRole('button', { name: 'Submit' }).click();
  await asked.waitFor({ state: 'detached' });
  const answers = log.getByRole('region', { name: 'Your answers' });
  assert.match(await answers.innerText(), /For whom\?.*“the team”.*Database 3.*Database 1/s);

  // The plan: a dependency is added, and shown.
  const plan = page.getByRole('region', { name: /Approve this plan of 2 steps\?/ });
  await plan.waitFor();
  for (const name of ['Approve', 'Modify', 'Re-plan', 'Cancel']) await plan.getByRole('button', { name }).waitFor();
  await plan.getByRole('button', { name: 'Edit step 2' }).click();
  await plan.getByRole('checkbox', { name: '1' }).check();
  await accessible(page, 'a step that is edited');
  await plan.getByRole('button', { name: 'Done' }).click();
  await plan.getByText('after step 1').waitFor();
  await plan.getByRole('button', { name: 'Modify' }).click();
  await plan.getByText('after step 1').waitFor();
  await plan.getByRole('button', { name: 'Approve' }).click();

  // Before each step it stops; what runs can be paused and stopped.
  const first = page.getByRole('region', { name: 'Step 1 of 2 comes next: Write a' });
  await first.waitFor();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
  await page.getByText('Plan 0/2').waitFor();
  await accessible(page, 'a stop before a step');
  await first.getByRole('button', { name: 'Do it', exact: false }).first().click();
  const second = page.getByRole('region', { name: 'Step 2 of 2 comes next: Write b' });
  await second.waitFor();
  await page.getByText('Plan 1/2').waitFor();
  await second.getByRole('button', { name: 'Skip this step' }).click();

  await log.locator('article:last-of-type').getByText('✓ Done').waitFor();
});
