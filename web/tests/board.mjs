// A request is started as sub-tasks from the box below; one worker is steered and opened, another one is stopped.

import assert from 'node:assert/strict';
import { accessible, becomes, browse, home } from './browse.mjs';

const release = process.argv[3];

await browse(async ({ page }) => {
  await home(page);
  await page.getByRole('button', { name: /Model and options/ }).click();
  await page.getByLabel('Sub-tasks').selectOption('parallel');
  await page.keyboard.press('Escape');
  const box = page.getByLabel('Your message');
  await box.fill('Write three files');
  await box.press('Enter');
  const board = page.getByRole('region', { name: 'Sub-tasks' });
  await board.getByText('Running 3 sub-tasks in parallel...').waitFor();
  await board.getByRole('img', { name: 'Dependencies: 3 after 1, 2' }).waitFor();
  await board.getByText('Waiting: 3. third (depends on 1, 2)').waitFor();
  await board.getByRole('button', { name: 'Stop sub-task 2' }).waitFor();
  await accessible(page, 'a board with its graph');

  await board.getByRole('button', { name: 'Steer sub-task 1' }).click();
  const words = board.getByLabel('Message to sub-task 1');
  await words.fill('keep it short');
  await words.press('Enter');
  await words.waitFor({ state: 'detached' });

  // Its conversation goes on while it is watched, and the way back leads to the board.
  await board.getByRole('link', { name: 'first' }).click();
  await page.getByText('TASK first: do it').waitFor();
  await page.getByText('keep it short').waitFor();
  await page.goBack();

  // A paused worker waits after its current step, and the board shows it. The other one continues.
  await board.getByRole('button', { name: 'Pause sub-task 1' }).click();
  await board.getByRole('link', { name: 'first' }).click();
  await page.getByText('TASK first: do it').waitFor();
  assert.equal((await fetch(release)).status, 200);
  await page.getByRole('heading', { name: 'Paused after this step.' }).waitFor();
  await page.goBack();
  await becomes(() => board.locator('li.needs_user, li.running').count(), 2);
  await page.getByText('Sub-task 1: first asks').waitFor();
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await becomes(() => board.locator('li.needs_user').count(), 0);
  await board.getByRole('link', { name: 'first' }).click();
  await page.getByText('This worker has finished.').waitFor();
  await page.getByRole('link', { name: 'Return to the request' }).click();
  await board.getByText('1. first').waitFor();

  await board.getByRole('button', { name: 'Stop sub-task 2' }).click();
  await page.getByRole('log').getByText('✓ Done').waitFor();
  await board.getByText('1 of 3 sub-tasks completed').waitFor();
  await becomes(() => board.locator('li.stopped, li.skipped').count(), 2);
  await accessible(page, 'a board that has ended');
});
