// What the page shows of the work: steps with a change of mind between them, workflows, pictures, a talk that becomes
// work, commands one at a time, and a trace that nobody loads who does not look at it.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse, eventually, home, received, say } from './browse.mjs';

const DOT = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  const composer = page.getByLabel('Your message', { exact: true });
  const last = log.locator('article:last-of-type');
  const done = () => last.getByText('✓ Done').waitFor();
  const traces = [];
  const sent = [];
  page.on('request', (request) => {
    if (request.url().includes('/trace')) traces.push(request.url());
    if (request.method() === 'POST' && request.url().endsWith('/messages')) sent.push(request.postDataJSON());
  });

  // How far it is, step by step, and the word that goes on.
  await begin(page, 'Do four things with @a.txt and @b.txt');
  await done();
  await log.getByText('📂 Loaded 2 files').waitFor();
  const steps = page.locator('details', { hasText: 'Steps 1/4' });
  await steps.locator('summary').click();
  const lines = async () => (await steps.locator('li').allInnerTexts()).map((line) => line.replace(/\s+/g, ' ').trim());
  await becomes(lines, ['☑ done: Read', '☐ open: Write', '☐ open: Test', '☐ open: Tell']);
  assert.equal(await steps.getByRole('progressbar').getAttribute('value'), '1');
  await accessible(page, 'steps');
  await last.getByLabel('Next steps').getByRole('button', { name: 'Continue to next step' }).click();
  await becomes(() => composer.inputValue(), 'continue', 'a click writes it');
  await composer.fill('');
  await page.getByRole('button', { name: 'Continue', exact: true }).waitFor();
  const auto = page.getByRole('checkbox', { name: 'Auto-continue' });
  assert.equal(await auto.isChecked(), false, 'nothing goes on by itself unless somebody wants it to');
  await auto.check();
  await page.reload();
  await becomes(() => auto.isChecked(), true, 'the wish is kept');
  await auto.uncheck();

  // Between two steps the person changes their mind: what is done stays, what comes is another.
  await say(page, 'Please use library X instead');
  await done();
  assert.deepEqual(sent.map((one) => one.text), ['Do four things with @a.txt and @b.txt', 'Please use library X instead'], 'and sends nothing');
  const changed = page.locator('details', { hasText: 'Steps 1/3' });
  await changed.waitFor();
  assert.deepEqual((await changed.locator('li').allTextContents()).map((line) => line.replace(/\s+/g, ' ').trim()), ['☑done: Read', '☐open: Write with library X', '☐open: Tell']);

  // A workflow is offered while its name is typed.
  await composer.click();
  await page.keyboard.type('/rev');
  const offered = page.getByRole('listbox', { name: 'Commands' }).getByRole('option');
  await offered.waitFor();
  assert.match(await offered.innerText(), /\/review\s+Review a file/);
  await accessible(page, 'workflows that are offered', { widths: false });
  await page.keyboard.press('Enter');
  await becomes(() => composer.inputValue(), '/review ', 'choosing one is not sending it');
  await composer.pressSequentially('a.rs');
  await page.keyboard.press('Enter');
  await received(page, '/review a.rs');
  await done();
  assert.equal(sent.at(-1).text, '/review a.rs');

  // A picture goes along, can be taken off before, and opens large afterwards.
  const attach = page.locator('input[type=file]');
  await attach.setInputFiles([{ name: 'a.png', mimeType: 'image/png', buffer: DOT }, { name: 'b.png', mimeType: 'image/png', buffer: DOT }]);
  await page.getByRole('button', { name: 'Remove b.png' }).click();
  await page.getByRole('button', { name: 'Remove a.png' }).waitFor();
  await say(page, 'What is this?');
  await done();
  assert.deepEqual(sent.at(-1).images, [{ mediaType: 'image/png', data: DOT.toString('base64') }]);
  const thumb = last.getByRole('button', { name: /^Enlarge/ });
  await thumb.click();
  const box = page.getByRole('dialog', { name: 'Image in your request' });
  await box.getByRole('img').waitFor();
  await accessible(page, 'a picture that is open');
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'hidden' });
  await becomes(() => thumb.evaluate((node) => node === document.activeElement), true, 'the keyboard is back at the picture');

  // Nobody has looked at the trace, and nothing of it was loaded.
  assert.deepEqual(traces, []);
  await page.getByRole('link', { name: 'Trace' }).click();
  await page.getByRole('region', { name: 'Trace' }).locator('summary').first().waitFor();
  assert.equal(traces.length, 1, 'it is fetched when somebody looks');

  // A talk becomes work at a button, and what was understood is put to the person first.
  await home(page);
  await page.getByRole('button', { name: 'Chat', exact: true }).click();
  await begin(page, 'Help me design a log-in');
  await done();
  assert.match(await log.innerText(), /chat/);
  await page.getByRole('button', { name: 'Implement now' }).click();
  const understood = page.getByRole('region', { name: "Here's what I understand: A log-in." });
  await understood.waitFor();
  await accessible(page, 'what was understood');
  await log.getByText(/wants it built|implementing/).waitFor();
  await understood.getByRole('button', { name: 'Keep talking' }).click();
  await understood.waitFor({ state: 'detached' });

  // Changes one at a time: each is shown with a button of its own, which writes exactly that file.
  await home(page);
  await page.getByRole('button', { name: 'Auto', exact: true }).click();
  await begin(page, 'Write both');
  const change = (path) => page.getByRole('region', { name: new RegExp(path.replace('.', '\\.')) }).filter({ has: page.getByRole('button', { name: 'Allow this time' }) });
  await change('x.txt').getByRole('region', { name: 'Changes of x.txt' }).waitFor();
  await change('x.txt').getByRole('button', { name: 'Allow this time' }).click();
  await change('y.txt').getByRole('region', { name: 'Changes of y.txt' }).waitFor();
  await accessible(page, 'a change that is asked about');
  await change('y.txt').getByRole('button', { name: 'Never allow' }).click();
  await page.getByRole('button', { name: 'Add this rule' }).click();
  await done();
  await last.getByText('1 applied').waitFor();

  // Commands one at a time: each is asked about by itself, and only what is allowed runs.
  await home(page);
  await begin(page, 'Make two folders');
  const series = page.getByRole('region', { name: 'The reply suggests 3 commands. Run them?' });
  await series.getByRole('button', { name: 'Run 3 cmds' }).waitFor();
  assert.deepEqual(await series.locator('ol button').allInnerTexts(), ['▶ Run', '▶ Run', '▶ Run'], 'each can be run by itself');
  await series.getByRole('button', { name: 'One by one' }).click();
  await page.getByRole('region', { name: /Run this command\?.*mkdir one/ }).getByRole('button', { name: 'Run Once' }).click();
  const panel = page.getByRole('complementary', { name: 'CLI Execution' });
  // The model wants a look at what came of it: the rest waits, and the panel says how far it is.
  await panel.getByText('paused').waitFor();
  await eventually(() => panel.innerText(), (words) => assert.match(words, /✓ 1\s*✗ 0\s*1\/3\s*33%[^]*Next: mkdir two, mkdir three/));
  await page.getByText('The model says: Look at this first.').waitFor();
  await accessible(page, 'commands that wait');
});
