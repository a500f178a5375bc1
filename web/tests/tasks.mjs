// Tasks are added, ticked and undone, and the assistant proposes what only the person applies.

import assert from 'node:assert/strict';
import { accessible, browse } from './browse.mjs';

await browse(async ({ page, root }) => {
  await page.goto(`${root}/#/tasks`);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByLabel('A new task').fill('Water the plants');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const plants = page.getByLabel('Done: Water the plants');
  await plants.waitFor();
  await plants.click();
  await page.locator('li.done', { hasText: 'Water the plants' }).waitFor();
  await page.getByLabel('A new task').fill('Buy rope');
  await page.getByLabel('When').fill('tomorrow 9am');
  await page.keyboard.press('Enter');
  await page.locator('li', { hasText: 'Buy rope' }).getByText(/ 09:00$/).waitFor();
  await page.getByRole('button', { name: 'Delete Buy rope' }).click();
  await page.locator('li', { hasText: 'Buy rope' }).waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await page.getByLabel('Your message to the assistant').fill('Add a call to Ann, please');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('I would add a call to Ann.').waitFor();
  await page.getByText('1 proposed').waitFor();
  const kept = await page.evaluate(async () => (await (await fetch('/api/todos?view=all')).json()).todos.map((task) => task.title));
  assert.deepEqual(kept, ['Water the plants'], 'nothing changes before it is applied');
  await page.getByRole('button', { name: 'Show before and after' }).click();
  await page.getByText(/^#\d+ Call Ann\s+\(priority: high\)$/).waitFor();
  await accessible(page, 'a proposal of the assistant');
  await page.getByRole('button', { name: 'Apply Selected' }).click();
  await page.getByText('Done: 1 created.').waitFor();
  await page.getByLabel('Done: Call Ann').waitFor();

  await page.getByRole('button', { name: 'Undo last change' }).click();
  await page.getByLabel('Done: Call Ann').waitFor({ state: 'detached' });
});
