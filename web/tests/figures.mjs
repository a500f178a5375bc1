// Figures of the page, as one line of JSON. Started by `bench/src/web.rs`, which lets the model speak when told to.

import { gzipSync } from 'node:zlib';
import { browse } from './browse.mjs';

const session = process.argv[3];
const ROUNDS = 7;

/** In the page: tells when something that is looked for is first there, in ms since the address was opened. */
const watch = (wanted) => {
  const look = () => {
    if (window.found === undefined && document.querySelector(wanted)) {
      requestAnimationFrame(() => (window.found ??= performance.now()));
    }
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
};
/** In the page: how long frames take until somebody says that it is enough. */
const frames = () => {
  window.frames_ = [];
  let last = performance.now();
  const next = (now) => {
    window.frames_.push(now - last);
    last = now;
    if (!window.enough) requestAnimationFrame(next);
  };
  window.enough = false;
  requestAnimationFrame(next);
};
const taken = (page) => page.evaluate(() => ((window.enough = true), window.frames_.slice(1)));

await browse(async ({ page, context, root }) => {
  const found = { usable: [], open: [], whole: [], request: [] };
  // What is loaded before the page can be used.
  const scripts = [];
  page.on('response', (response) => response.url().endsWith('.js') && scripts.push(response));
  await page.goto(`${root}/?first`);
  await page.getByLabel('Your message').waitFor();
  const bodies = await Promise.all(scripts.map((response) => response.body()));
  found.gzip = bodies.reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0);

  async function opened(hash, wanted) {
    const fresh = await context.newPage();
    await fresh.addInitScript(watch, wanted);
    await fresh.goto(`${root}/${hash}`);
    await fresh.waitForFunction(() => window.found !== undefined);
    const at = await fresh.evaluate(() => window.found);
    return [fresh, at];
  }
  for (let round = 0; round < ROUNDS; round++) {
    const [home, usable] = await opened('#/', '#composer');
    found.usable.push(usable);
    found.request.push(await home.evaluate(async () => {
      const start = performance.now();
      await (await fetch('/api/settings')).text();
      return performance.now() - start;
    }));
    await home.close();
  }
  const { messages, lastSeq } = await page.evaluate(async (id) => (await fetch(`/api/sessions/${id}`)).json(), session);
  found.events = lastSeq;
  let scrolled;
  for (let round = 0; round < 5; round++) {
    const [long, at] = await opened(`#/s/${session}`, `[data-turn="${messages.at(-1).request}"] .status .green`);
    found.open.push(at);
    // What came before is drawn while the page can be read already.
    await long.waitForFunction((turns) => document.querySelectorAll('article').length === turns, messages.length);
    found.whole.push(await long.evaluate(() => performance.now()));
    if (round === 4) scrolled = long;
    else await long.close();
  }
  await scrolled.evaluate(frames);
  await scrolled.evaluate(async () => {
    const log = document.querySelector('[role=log]');
    const step = log.scrollHeight / 120;
    for (let n = 0; n < 120; n++) {
      log.scrollTop -= step;
      await new Promise(requestAnimationFrame);
    }
  });
  found.scrollFrames = await taken(scrolled);
  await scrolled.close();

  await page.evaluate(frames);
  await page.waitForTimeout(1000);
  found.idleFrames = await taken(page);
  await page.getByLabel('Your message').fill('Speak fast');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#\/s\//);
  await page.evaluate(frames);
  process.stdout.write('stream\n');
  await page.getByRole('log').getByText('✓ Done').waitFor({ timeout: 60_000 });
  found.streamFrames = await taken(page);
  process.stdout.write(`${JSON.stringify(found)}\n`);
});
