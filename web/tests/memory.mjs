// What a person says for good is remembered in plain sight, and can be found, edited and forgotten.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse, say } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'My name is Ada. Hello!');
  await log.getByText('Remembered for later sessions: “My name is Ada').waitFor();
  await log.getByText('✓ Done').waitFor();
  await log.getByRole('link', { name: 'Memory' }).click();

  const memory = page.getByRole('region', { name: 'Memory' });
  const entry = (words) => memory.getByRole('listitem').filter({ hasText: words });
  await entry('My name is Ada').getByText('everywhere').waitFor();
  await memory.getByLabel('New memory').fill('We deploy on Fridays');
  await memory.getByRole('checkbox').check();
  await memory.getByRole('button', { name: 'Remember' }).click();
  await entry('We deploy on Fridays').getByText('added by you').waitFor();
  await becomes(() => memory.getByRole('listitem').count(), 2);
  await accessible(page, 'what is remembered');

  // Edited, and wider than before.
  await entry('Fridays').getByRole('button', { name: /^Edit/ }).click();
  await memory.getByLabel('Memory', { exact: true }).fill('We deploy on Mondays');
  await memory.getByRole('combobox').selectOption({ label: 'everywhere' });
  await accessible(page, 'something remembered that is edited');
  await memory.getByRole('button', { name: 'Save' }).click();
  await entry('Mondays').getByText('everywhere').waitFor();
  assert.equal(await entry('Fridays').count(), 0);

  // Forgotten, and brought back.
  await entry('Mondays').getByRole('button', { name: /^Forget/ }).click();
  await entry('Mondays').waitFor({ state: 'detached' });
  await memory.getByRole('button', { name: 'Undo' }).click();
  await entry('Mondays').waitFor();
  await memory.getByRole('searchbox').fill('mondays');
  await entry('Ada').waitFor({ state: 'detached' });
  await becomes(() => memory.getByRole('listitem').count(), 1);

  // The next session is told, and says so.
  await begin(page, 'What do you know?');
  await log.getByText('The model sees 2 memories').click();
  await log.getByText('We deploy on Mondays').waitFor();
  await log.getByText('✓ Done').waitFor();
  await say(page, 'And now?');
  await log.locator('article:last-of-type').getByText('✓ Done').waitFor();
  assert.equal(await log.getByText('The model sees').count(), 1, 'it is said once');
});
