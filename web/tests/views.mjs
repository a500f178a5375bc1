// Every view and everything that opens over it, with much in it: usable by everybody in both looks, and at every width
// from an editor's side panel to a wall.

import assert from 'node:assert/strict';
import { accessible, begin, browse, choose, eventually, say, press } from './browse.mjs';

const tell = (word) => process.stdout.write(`${word}\n`);

await browse(async ({ page, root }) => {
  const log = page.getByRole('log');
  const go = async (place, seen) => {
    await page.goto(`${root}/${place}`);
    await seen.first().waitFor();
  };
  await page.getByRole('list', { name: 'Examples' }).waitFor();
  await accessible(page, 'the first page');

  // A conversation while it works, and when it has ended.
  await begin(page, 'Write an extraordinarily_long_file_name_that_no_narrow_page_has_room_for.txt, please', { trusts: true });
  const command = page.getByRole('region', { name: /Run this command\?/ });
  await command.waitFor();
  await accessible(page, 'a question about a long command');
  await press(page, command, 'End');
  await press(page, command, '1');
  await log.getByText('A table that is wide').waitFor();
  await accessible(page, 'a request that runs');
  tell('more');
  await log.getByText('✓ Done').waitFor();
  await log.getByRole('button', { name: /very-long-command/ }).click();
  await accessible(page, 'a conversation');
  const session = new URL(page.url()).hash;

  await go(`${session}/changes`, page.getByRole('button', { name: 'Show', exact: true }));
  await page.getByRole('button', { name: 'Show', exact: true }).first().click();
  await page.getByRole('region', { name: /Changes of/ }).waitFor();
  await accessible(page, 'the changes');
  const lines = (view) => page.getByRole('region', { name: view }).locator('summary');
  await go(`${session}/trace`, lines('Trace'));
  await lines('Trace').first().click();
  await accessible(page, 'the trace');
  await go('#/tasks', page.getByLabel('A new task'));
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByLabel('A new task').fill('A task with a name that goes on and on, and_with_a_word_that_cannot_be_broken_anywhere_in_it');
  await page.keyboard.press('Enter');
  await page.getByRole('checkbox').first().waitFor();
  await accessible(page, 'tasks');
  await page.setViewportSize({ width: 360, height: 640 });
  await page.getByRole('button', { name: 'Assistant' }).click();
  await page.getByLabel('Your message to the assistant').waitFor();
  await page.getByLabel('A new task').waitFor({ state: 'hidden' });
  await accessible(page, 'the assistant on a phone', { widths: false });
  await page.getByRole('button', { name: 'Tasks', exact: true }).click();
  await page.getByLabel('A new task').waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await go('#/memory', page.getByLabel('New memory'));
  await accessible(page, 'what is remembered');
  await go('#/usage', page.getByRole('heading', { name: 'By day' }));
  await accessible(page, 'usage');
  await go('#/audit', lines('Audit'));
  await lines('Audit').first().click();
  await accessible(page, 'the audit');
  await go('#/settings', page.getByRole('switch'));
  await page.getByRole('region', { name: 'Settings' }).locator('details.section').nth(1).locator('summary').first().click();
  await accessible(page, 'settings');
  await go('#/extensions', page.getByLabel('Folder'));
  await accessible(page, 'extensions');
  await go('#/', page.getByRole('heading', { name: 'Recent sessions' }));
  await accessible(page, 'the first page with sessions');

  // What opens over them.
  await go(session, log.getByText('✓ Done'));
  const palette = page.getByRole('dialog', { name: 'Commands and sessions' });
  await page.keyboard.press('Control+k');
  await palette.getByRole('option', { name: /^Open:/ }).first().waitFor();
  await accessible(page, 'the palette');
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'detached' });
  for (const [words, name] of [['keys', 'Keys'], ['rename', 'Session title'], ['delete this', 'Delete this session?']]) {
    await choose(page, words);
    const dialog = page.getByRole('dialog', { name });
    await dialog.waitFor();
    await accessible(page, name);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
  await page.setViewportSize({ width: 360, height: 640 });
  await page.getByRole('button', { name: 'Sessions and views' }).click();
  await page.getByRole('navigation').waitFor();
  await accessible(page, 'the list on a phone', { widths: false });
  await page.keyboard.press('Escape');
  await page.getByRole('navigation').waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 1280, height: 800 });

  // Whoever wants no motion is shown none.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const moving = () => page.evaluate(() => document.getAnimations().filter((one) => Number(one.effect.getComputedTiming().duration) > 10).length);
  await say(page, 'And something slow');
  await log.locator('.dots').last().waitFor();
  assert.equal(await moving(), 0, 'nothing moves for whoever wants no motion');
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await eventually(moving, (count) => assert.ok(count > 0, 'and something does for the others'));
});
