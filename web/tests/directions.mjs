// Hebrew and Arabic beside English and programs: each is read its own way, in a page that is read from the left and in
// one that is read from the right.

import assert from 'node:assert/strict';
import { accessible, begin, browse, fits, hamper, press } from './browse.mjs';

/** Runs in the page: which way something is read, and on which side of its box its words begin. */
function sides(node) {
  const style = getComputedStyle(node);
  const range = document.createRange();
  range.selectNodeContents(node);
  const [box, words] = [node.getBoundingClientRect(), range.getClientRects()[0]];
  const left = words.left - box.left - parseFloat(style.paddingLeft);
  const right = box.right - words.right - parseFloat(style.paddingRight);
  return { direction: style.direction, begins: Math.abs(left) < 3 ? 'left' : Math.abs(right) < 3 ? 'right' : 'between' };
}

/** Runs in the page: whether the last character of a sentence stands after the one before it, as it is read in English. */
function endsWell(node) {
  const text = node.firstChild;
  const at = (n) => {
    const range = document.createRange();
    range.setStart(text, n);
    range.setEnd(text, n + 1);
    return range.getBoundingClientRect().left;
  };
  return at(text.length - 1) > at(text.length - 2);
}

/** Runs in the page: whether the words of a sentence stand from right to left. */
function readsFromTheRight(node) {
  const words = document.createRange();
  const at = (n) => {
    words.setStart(node.firstChild, n);
    words.setEnd(node.firstChild, n + 1);
    return words.getBoundingClientRect().left;
  };
  return at(0) > at(node.firstChild.data.indexOf('g'));
}

await browse(async ({ page, context, browser, root }) => {
  const log = page.getByRole('log');
  await begin(page, 'כתוב את הקובץ greeting.txt, בבקשה', { trusts: true });
  const command = page.getByRole('region', { name: /Run this command\?/ });
  assert.equal((await command.locator('pre').evaluate(sides)).direction, 'ltr', 'a command is read from the left');
  await accessible(page, 'a question about a command with Hebrew words');
  await press(page, command, '1');
  await log.getByText('✓ Done').waitFor();

  const read = async (one, locale) => {
    const reply = one.getByRole('log');
    await reply.getByText('✓ Done').waitFor();
    for (const place of [one.getByRole('navigation').locator('.title'), one.getByRole('heading', { level: 1 }).getByRole('button')]) {
      // A list that was asked for early has no name for it yet.
      const title = place.filter({ hasText: 'greeting.txt' }).first();
      assert.ok(await title.evaluate(readsFromTheRight), `${locale}: the name of the session`);
    }
    const bubble = reply.locator('.bubble [dir=auto]').first();
    assert.equal((await bubble.evaluate(sides)).direction, 'rtl', `${locale}: what the person wrote`);
    const first = reply.locator('p', { hasText: 'הקובץ' });
    assert.deepEqual(await first.evaluate(sides), { direction: 'rtl', begins: 'right' }, `${locale}: Hebrew words of the model`);
    assert.equal((await first.locator('code').evaluate(sides)).direction, 'ltr', `${locale}: code among them`);
    assert.equal((await reply.locator('ul', { hasText: 'ראשון' }).evaluate(sides)).direction, 'rtl', `${locale}: a list`);
    const english = reply.locator('p', { hasText: 'This paragraph' });
    assert.equal((await english.evaluate(sides)).direction, 'ltr', `${locale}: English words between them`);
    assert.ok(await english.evaluate(endsWell), `${locale}: their stop stands at their end`);
    assert.equal((await reply.locator('blockquote').evaluate(sides)).direction, 'rtl', `${locale}: an Arabic quotation`);
    const code = reply.getByLabel('Code').locator('code');
    assert.deepEqual(await code.evaluate(sides), { direction: 'ltr', begins: 'left' }, `${locale}: a program with a Hebrew comment`);
  };
  const shoot = async (one, name) => {
    if (process.env.TRIMTAB_SHOTS) await one.screenshot({ path: `${process.env.TRIMTAB_SHOTS}/direction-${name}.png` });
  };
  await read(page, 'from the left');
  const session = new URL(page.url()).hash;
  await shoot(page, 'ltr');

  // A browser whose language is written from the right: the page is a mirror image, and nothing of it is cut off.
  const mirrored = await browser.newContext({ locale: 'he-IL', storageState: await context.storageState(), viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  await hamper(mirrored);
  const other = await mirrored.newPage();
  const errors = [];
  other.on('pageerror', (error) => errors.push(error.message));
  await other.goto(`${root}/${session}`);
  await read(other, 'from the right');
  assert.equal(await other.evaluate(() => document.documentElement.dir), 'rtl');
  const left = async (locator) => (await locator.boundingBox()).x;
  assert.ok((await left(other.getByRole('navigation'))) > (await left(other.getByRole('main'))), 'the list stands on the right');
  assert.ok((await left(other.getByRole('button', { name: 'Send' }))) < (await left(other.getByRole('button', { name: 'Auto', exact: true }))), 'sending is on the left');
  assert.ok((await left(other.getByRole('log').locator('.bubble').first())) < (await left(other.getByRole('log').locator('.reply').first())) + 200, 'what the person says stands on the left');
  await shoot(other, 'rtl');
  await accessible(other, 'a conversation in a page that is read from the right');
  const lines = (view) => other.getByRole('region', { name: view }).locator('summary').first();
  const views = [
    ['changes', `${session}/changes`, other.getByRole('button', { name: 'Show', exact: true })],
    ['trace', `${session}/trace`, lines('Trace')],
    ['tasks', '#/tasks', other.getByLabel('A new task')],
    ['memory', '#/memory', other.getByLabel('New memory')],
    ['usage', '#/usage', other.getByRole('heading', { name: 'By day' })],
    ['audit', '#/audit', lines('Audit')],
    ['settings', '#/settings', other.getByRole('switch').first()],
    ['home', '#/', other.getByRole('heading', { name: 'Recent sessions' })],
  ];
  for (const [name, place, seen] of views) {
    await other.goto(`${root}/${place}`);
    await seen.waitFor();
    await fits(other, `${name} in a page that is read from the right`);
    await shoot(other, `rtl-${name}`);
  }
  assert.ok(await other.getByRole('heading', { name: 'What should we work on?' }).evaluate(endsWell), 'an English sentence ends where it ends');
  await other.keyboard.press('Control+k');
  await other.getByRole('dialog', { name: 'Commands and sessions' }).waitFor();
  await fits(other, 'the palette in a page that is read from the right');
  await other.keyboard.press('Escape');

  // Whoever wants it the other way says so, and that is kept.
  await other.goto(`${root}/#/settings`);
  await other.getByRole('button', { name: 'Left to right' }).click();
  await other.reload();
  assert.equal(await other.evaluate(() => document.documentElement.dir), 'ltr');
  assert.ok((await left(other.getByRole('navigation'))) < (await left(other.getByRole('main'))), 'the list stands on the left');
  assert.deepEqual(errors, []);
  await mirrored.close();
});
