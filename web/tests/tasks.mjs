// Tasks are added, ticked and undone, and the assistant proposes what only the person applies.

import assert from 'node:assert/strict';
import { accessible, becomes, browse } from './browse.mjs';

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
  await page.getByLabel('When', { exact: true }).fill('tomorrow 9am');
  await page.keyboard.press('Enter');
  await page.locator('li', { hasText: 'Buy rope' }).getByText('09:00', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete Buy rope' }).click();
  await page.locator('li', { hasText: 'Buy rope' }).waitFor({ state: 'detached' });

  // Every field can be edited, and when it is due can be said in words.
  const add = async (title, when = '') => {
    await page.getByLabel('A new task').fill(title);
    await page.getByLabel('When', { exact: true }).fill(when);
    await page.keyboard.press('Enter');
    await page.getByLabel(`Done: ${title}`).waitFor();
  };
  const stored = (title) => page.evaluate(async (title) => (await (await fetch('/api/todos?view=all')).json()).todos.find((task) => task.title === title), title);
  await add('Sharpen the saw');
  await page.getByRole('button', { name: 'Edit Sharpen the saw' }).click();
  const form = page.getByRole('form', { name: 'Edit Sharpen the saw' });
  await becomes(() => form.getByLabel('Title').evaluate((node) => node === document.activeElement), true, 'the title can be written at once');
  await accessible(page, 'a task that is edited');
  await form.getByLabel('Title').fill('Sharpen the axe');
  await form.getByLabel('Notes').fill('In the shed');
  await form.getByLabel('When, in words').fill('in a fortnight or so');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByRole('alert').waitFor();
  await form.getByLabel('When, in words').fill('every monday 9am');
  await form.getByLabel('Priority').selectOption('high');
  await form.getByLabel('Category').selectOption('habit');
  await form.getByLabel('Tags').fill('#garden, tools');
  await form.getByRole('button', { name: 'Save' }).click();
  const axe = page.locator('li', { hasText: 'Sharpen the axe' });
  await axe.getByText(/↻ weekly/).waitFor();
  const { notes, priority, category, tags, timeOfDay, recurrence } = await stored('Sharpen the axe');
  assert.deepEqual([notes, priority, category, tags, timeOfDay, recurrence.type], ['In the shed', 'high', 'habit', ['garden', 'tools'], '09:00', 'weekly']);
  await page.getByRole('button', { name: 'Edit Sharpen the axe' }).click();
  const again = page.getByRole('form', { name: 'Edit Sharpen the axe' });
  await again.getByLabel('Repeat').selectOption('daily');
  await again.getByLabel(/^Every/).fill('3');
  await again.getByRole('button', { name: 'Save' }).click();
  await axe.getByText('↻ every 3 days').waitFor();
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
  await axe.getByText(/↻ weekly/).waitFor();

  // A task goes to another day by keys and by the pointer, and what was done can be undone.
  await add('Plan the garden', 'tomorrow');
  const day = (name) => page.getByRole('region', { name, exact: true }).getByRole('button', { name: 'Plan the garden', exact: true });
  await day('Tomorrow').focus();
  await page.keyboard.press('Alt+ArrowUp');
  await day('Today').waitFor();
  await becomes(() => day('Today').evaluate((node) => node === document.activeElement), true, 'the keyboard goes along');
  await page.getByText('Moved “Plan the garden” to Today.').waitFor();
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
  await day('Tomorrow').waitFor();
  await page.locator('li', { hasText: 'Plan the garden' }).dragTo(page.getByRole('region', { name: 'No date' }));
  await day('No date').waitFor();
  // While it is dragged, the days of the week are there as well.
  const from = await page.locator('li', { hasText: 'Plan the garden' }).boundingBox();
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(from.x + from.width / 2 + 12, from.y + 12, { steps: 4 });
  const places = page.getByRole('list', { name: 'Move to' });
  await places.getByText('Tomorrow').hover();
  await page.mouse.up();
  await places.waitFor({ state: 'detached' });
  await day('Tomorrow').waitFor();
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
  await day('No date').waitFor();
  assert.equal((await stored('Plan the garden')).scheduledFor, null);
  await day('No date').focus();
  await page.keyboard.press('Delete');
  await day('No date').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete Sharpen the axe' }).click();
  await axe.waitFor({ state: 'detached' });

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
}, { quiet: [/422/] });
