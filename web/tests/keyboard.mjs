// No mouse: everything is reached, answered, opened and closed by keys, the place of the keyboard can always be seen,
// and whatever closes gives it back.

import assert from 'node:assert/strict';
import { armed, browse } from './browse.mjs';

/** Runs in the page: where the keyboard is, and whether a person can see that. */
function place() {
  const node = document.activeElement;
  // A view that has just come takes the keyboard as a whole, by script: no key stops there.
  if (!node || node === document.body || node === document.documentElement || node.localName === 'main') return null;
  const box = node.getBoundingClientRect();
  let ring = false;
  for (let over = node, n = 0; over && n < 4; over = over.parentElement, n++) {
    const style = getComputedStyle(over);
    ring ||= style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && over.matches(':focus-visible, :focus-within');
    ring ||= over.matches('form:focus-within') && style.boxShadow !== 'none';
  }
  const all = (window.known ??= new Map());
  if (!all.has(node)) all.set(node, all.size);
  return {
    id: all.get(node),
    name: `${node.localName} “${(node.getAttribute('aria-label') ?? node.labels?.[0]?.textContent ?? node.textContent ?? '').trim().slice(0, 50)}”`,
    ring,
    inside: box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
  };
}

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  const keys = async (...pressed) => {
    for (const key of pressed) await page.keyboard.press(key);
  };
  const focused = (locator) => locator.evaluate((node) => node === document.activeElement);
  const isFocused = async (locator, why) => {
    await locator.waitFor();
    await page.waitForFunction((node) => node === document.activeElement, await locator.elementHandle()).catch(() => undefined);
    assert.ok(await focused(locator), `${why}; the keyboard is at ${JSON.stringify(await page.evaluate(place))}`);
  };
  /** Goes on by Tab until it is there, and sees on the way where it is. */
  const reach = async (locator, key = 'Tab') => {
    await locator.waitFor();
    for (let n = 0; n < 80; n++) {
      if (await focused(locator)) return;
      await keys(key);
      const at = await page.evaluate(place);
      if (at) assert.ok(at.ring && at.inside, `it can be seen that the keyboard is at ${at.name}`);
    }
    assert.fail(`${locator} is not reached by ${key}`);
  };
  const press = async (locator) => {
    await reach(locator);
    await keys('Enter');
  };
  const composer = page.getByLabel('Your message', { exact: true });
  const region = (name) => page.getByRole('region', { name });
  const dialog = (name) => page.getByRole('dialog', { name });

  // The first key that is pressed leads past the list.
  await composer.waitFor();
  await reach(page.getByRole('link', { name: 'Skip to the message box' }));
  await keys('Enter');
  await isFocused(composer, 'the first link leads to the message box');
  await reach(page.getByRole('button', { name: 'Plan', exact: true }));
  await keys('Space');
  await reach(composer, 'Shift+Tab');
  await page.keyboard.type('Write two files');
  await keys('Enter');

  // A question takes the keyboard from nobody. One key leads to it; it is answered by a button or by its number.
  const plan = region(/Approve this plan of 3 steps\?/);
  const content = (question) => question.getByRole('group', { name: 'The proposed change' });
  const go = async (question) => {
    await armed(question);
    assert.equal(await question.evaluate((node) => node.contains(document.activeElement)), false, 'it has not taken the keyboard');
    await keys('Control+.');
    await isFocused(content(question), 'a key leads to the question');
  };
  await go(plan);
  await press(plan.getByRole('button', { name: 'Remove step 3' }));
  await isFocused(plan.getByRole('button', { name: 'Edit step 2' }), 'after a step is gone the keyboard is at the one beside it');
  await keys('Enter');
  await isFocused(plan.getByLabel('Title of step 2'), 'whoever edits a step can write at once');
  await keys('End');
  await page.keyboard.type(' first');
  await press(plan.getByRole('button', { name: 'Done' }));
  await isFocused(plan.getByRole('button', { name: 'Edit step 2' }), 'and is back at its button afterwards');
  await reach(plan.getByRole('button', { name: 'Move step 2 up' }), 'Shift+Tab');
  await keys('Enter');
  await isFocused(plan.getByRole('button', { name: 'Edit step 1' }), 'the keyboard goes along with a step that moves');
  await press(plan.getByRole('button', { name: 'Modify' }));
  const edited = region(/Approve this plan of 2 steps\?/);
  await edited.getByText('1. Write b first').waitFor();
  await go(edited);
  await keys('1');
  const trust = region(/trust/i);
  await go(trust);
  await press(trust.getByRole('button', { name: /Yes, I trust/ }));

  // Whoever is writing when something is asked goes on writing: their digits answer nothing.
  const command = region(/Run this command\?/);
  await command.waitFor();
  await reach(composer);
  await page.keyboard.type('2 more words');
  assert.equal(await composer.inputValue(), '2 more words');
  await keys('Control+a', 'Delete');
  await reach(command.getByRole('button', { name: 'Allow this time' }), 'Shift+Tab');
  await keys('Enter');
  await log.getByText('✓ Done').waitFor();
  await isFocused(composer, 'the last answer gives the keyboard back to the message box');

  // What opens closes by Escape, and gives the keyboard back.
  const palette = dialog('Commands and sessions');
  await keys('Control+k');
  await isFocused(palette.getByRole('combobox'), 'the palette can be written in at once');
  await keys('Escape');
  await palette.waitFor({ state: 'detached' });
  await isFocused(composer, 'the palette gives the keyboard back');
  const choose = async (words) => {
    await keys('Control+k');
    await isFocused(palette.getByRole('combobox'), 'the palette is open');
    await page.keyboard.type(words);
    await keys('Enter');
    await palette.waitFor({ state: 'detached' });
  };
  for (const [words, name] of [['keys', 'Keys'], ['rename', 'Session title'], ['delete this', 'Delete this session?']]) {
    await choose(words);
    await dialog(name).waitFor();
    if (name === 'Delete this session?') await isFocused(dialog(name).getByRole('button', { name: 'Keep it' }), 'what harms nobody comes first');
    await keys('Escape');
    await dialog(name).waitFor({ state: 'detached' });
    await isFocused(composer, `${name} gives the keyboard back`);
  }
  await choose('look: dark');
  await isFocused(composer, 'a choice gives the keyboard back');

  // The palette leads to every view; in each, every stop can be seen, and Tab comes round.
  const views = [['conversation', /#\/s\/[^/]+$/, log], ['changes: see', /changes$/, region('Changes')], ['trace', /trace$/, region('Trace')], ['tasks', /tasks$/, page.getByLabel('A new task')], ['memory', /memory$/, region('Memory')], ['usage', /usage$/, region('Usage')], ['audit', /audit$/, region('Audit')], ['extensions', /extensions$/, region('Extensions')], ['settings', /settings$/, region('Settings')], ['new session', /#\/$/, composer]];
  const session = page.url();
  const figures = {};
  for (const [words, address, seen] of views) {
    if (words === 'changes: see') {
      // The page begins anew, and hears no key before it is there.
      await page.goto(session);
      await composer.waitFor();
    }
    await choose(words);
    await page.waitForURL(address);
    await seen.first().waitFor();
    const stops = new Map();
    for (let n = 0; n < 150; n++) {
      await keys('Tab');
      const at = await page.evaluate(place);
      if (at === null) continue;
      if (stops.has(at.id)) break;
      stops.set(at.id, at);
      assert.ok(at.ring && at.inside, `${words}: it can be seen that the keyboard is at ${at.name}`);
    }
    figures[words] = stops.size;
    assert.ok(stops.size > 6 && stops.size < 150, `${words} has ${stops.size} stops`);
  }

  // Changes are seen, undone and brought back.
  await page.goto(`${session}/changes`);
  await press(page.getByRole('button', { name: 'Show', exact: true }));
  await reach(region(/Changes of made.txt/));
  await reach(page.getByRole('button', { name: '◀ Rewind' }), 'Shift+Tab');
  await keys('Enter');
  await page.getByText('1 change, 1 undone').waitFor();
  await press(page.getByRole('button', { name: '▶ Forward' }));
  await page.getByText('1 change', { exact: true }).waitFor();

  // A task is added, ticked and removed.
  await choose('tasks');
  await press(page.getByRole('button', { name: 'All', exact: true }));
  await reach(page.getByLabel('A new task'));
  await page.keyboard.type('Water the plants');
  await keys('Enter');
  await reach(page.getByLabel('Done: Water the plants'));
  await keys('Space');
  await page.locator('li.done', { hasText: 'Water the plants' }).waitFor();
  await press(page.getByRole('button', { name: 'Delete Water the plants' }));
  await page.getByLabel('Done: Water the plants').waitFor({ state: 'detached' });
  await isFocused(page.getByLabel('A new task'), 'the keyboard is not lost with what was removed');

  // Something is remembered, and forgotten.
  await choose('memory');
  await reach(page.getByLabel('New memory'));
  await page.keyboard.type('I prefer tabs');
  await keys('Enter');
  await press(page.getByRole('button', { name: 'Forget “I prefer tabs”' }));
  await page.getByText('Forgotten: “I prefer tabs”').waitFor();
  await isFocused(page.getByLabel('New memory'), 'the keyboard is not lost with what was forgotten');

  // On a phone the list opens over the page and closes again.
  await page.setViewportSize({ width: 360, height: 640 });
  const opener = page.getByRole('button', { name: 'Sessions and views' });
  await reach(opener, 'Shift+Tab');
  await keys('Enter');
  await isFocused(page.getByLabel('Search sessions'), 'the list takes the keyboard');
  await keys('Escape');
  await page.getByRole('navigation').waitFor({ state: 'detached' });
  await isFocused(opener, 'and gives it back');
});
