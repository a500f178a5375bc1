// The message box: files are named by keyboard, dropped, and attached; the model and the effort are chosen for one
// session; a running request is stopped with the same button; and a message is edited and sent again.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse, home, say } from './browse.mjs';

const DOT = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  const composer = page.getByLabel('Your message', { exact: true });
  const done = () => log.locator('article').last().getByText('✓ Done').waitFor();
  const sent = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/messages')) sent.push(request.postDataJSON());
  });

  // Files by keyboard alone. The list closes with Escape, and the word stays.
  await home(page);
  await composer.focus();
  await page.keyboard.type('Look at @inv');
  const files = page.getByRole('listbox', { name: 'Files' });
  await files.getByRole('option').first().waitFor();
  assert.deepEqual(await files.getByRole('option').allInnerTexts(), ['@src/invoice.py', '@docs/invoices.md']);
  await accessible(page, 'files that are offered', { widths: false });
  await page.keyboard.press('Escape');
  await files.waitFor({ state: 'detached' });
  assert.equal(await composer.inputValue(), 'Look at @inv');
  await page.keyboard.type('oices');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('See @inv');
  await files.getByRole('option').nth(1).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await composer.inputValue(), 'See @docs/invoices.md ');

  // A file that the folder has is named; another one of its name is quoted; an image goes along.
  await composer.fill('Compare these');
  const text = (name, words) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(words) });
  await page.locator('input[type=file]').setInputFiles([text('invoice.py', 'total = 1\n'), text('invoices.md', 'Not the same\n'), { name: 'a.png', mimeType: 'image/png', buffer: DOT }]);
  const attachments = page.getByRole('list', { name: 'Attachments' });
  await attachments.getByText('@src/invoice.py').waitFor();
  await attachments.getByRole('img', { name: 'a.png' }).waitFor();
  await accessible(page, 'attachments');
  await page.locator('input[type=file]').setInputFiles([{ name: 'x.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2]) }]);
  await page.getByRole('alert').getByText(/x\.bin is not a text file/).waitFor();

  // The model and the effort are this session's.
  await page.getByRole('button', { name: /Model and options/ }).click();
  const options = page.getByRole('dialog', { name: 'Model and options' });
  await options.getByText(/asks before others/).waitFor();
  await accessible(page, 'the options of a message');
  await options.getByLabel('Effort').selectOption('high');
  await page.keyboard.press('Escape');
  await options.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/#\/s\//);
  await done();
  assert.deepEqual(sent.at(-1).text, 'Compare these @src/invoice.py\n\ninvoices.md:\n```\nNot the same\n```');
  assert.deepEqual([sent.at(-1).effort, sent.at(-1).images.length], ['high', 1]);
  await composer.focus();
  await page.keyboard.type('/effort low');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /Model and options: .*low/ }).waitFor();
  // An unknown command is not sent. The nearest one is named.
  const before = sent.length;
  await page.keyboard.type('/zzzchanges');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Unknown command /zzzchanges. Did you mean /changes?').waitFor();
  assert.equal(sent.length, before);
  await composer.fill('');
  const first = page.url();
  await begin(page, 'Another session');
  await done();
  assert.equal(sent.at(-1).effort, 'high', 'what was set in one session stays there');

  // One button sends, stops, and steers.
  await say(page, 'Slowly, please');
  await log.getByText('The first half').waitFor();
  await composer.fill('More');
  await page.getByRole('button', { name: 'Steer' }).waitFor();
  await composer.fill('');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await log.getByText('Cancelled').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();

  // A message is edited and sent again in a copy, with what was attached; an answer is made again.
  await page.goto(first);
  await done();
  await page.getByRole('button', { name: 'Edit this message' }).focus();
  await page.keyboard.press('Enter');
  const edit = page.getByLabel('Edit your message');
  await becomes(() => edit.evaluate((node) => node === document.activeElement), true, 'it can be written in at once');
  await accessible(page, 'a message that is edited');
  await edit.fill('Compare them again');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.href !== first);
  const copy = page.url();
  await done();
  assert.deepEqual([sent.at(-1).text, sent.at(-1).images.length], ['Compare them again', 1]);
  assert.equal(await log.locator('article').count(), 1, 'the copy ends before the message');
  await page.getByRole('button', { name: 'Regenerate this answer' }).click();
  await page.waitForURL((url) => url.href !== copy && url.href !== first);
  await done();
  assert.equal(sent.at(-1).text, 'Compare them again');
  await page.goto(first);
  await done();
  await log.getByText('Compare these @src/invoice.py').first().waitFor();
});
