// A real browser for the tests: signed in, watched for errors, closed at the end.

import assert from 'node:assert/strict';
import { chromium, firefox } from 'playwright-core';
import { AxeBuilder } from '@axe-core/playwright';

const CHROMIUM = process.env.TRIMTAB_CHROMIUM ?? '/usr/bin/chromium';
/** `TRIMTAB_BROWSER=firefox` walks in the system's Firefox, over WebDriver BiDi. */
const FIREFOX = process.env.TRIMTAB_FIREFOX ?? '/usr/bin/firefox-esr';
export const IS_FIREFOX = process.env.TRIMTAB_BROWSER === 'firefox';
/**
 * `TRIMTAB_BROWSER_SLOW=6` walks in a browser six times slower, with a server that takes up to 300 ms for each answer: a
 * walk that reads before what it reads is there, or a page that loses a click or a key meanwhile, fails then and not on
 * somebody else's machine. What the delays are drawn from is printed, and `TRIMTAB_BROWSER_SEED` brings them again.
 */
const SLOW = Number(process.env.TRIMTAB_BROWSER_SLOW ?? 1);
const SEED = Number(process.env.TRIMTAB_BROWSER_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const LONGEST_DELAY = 300;
/** Long enough for a machine that is busy with everything else; what is there is seen at once all the same. */
const PATIENCE = SLOW > 1 ? 180_000 : 60_000;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

async function launch() {
  if (!IS_FIREFOX) return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  const browser = await firefox.launch({ channel: 'moz-firefox', executablePath: FIREFOX });
  // Playwright sends this command to every page, and a Firefox that does not know it yet would have no page. Walks in
  // Firefox therefore see one look, with motion.
  const session = Object.getPrototypeOf(browser._connection.toImpl(browser)._browserSession);
  const { send } = session;
  session.send = function (method, params) {
    return method === 'emulation.setMediaFeaturesOverride' ? Promise.resolve({}) : send.call(this, method, params);
  };
  return browser;
}

/**
 * Runs a test in a page that has followed the link. `quiet`: messages of the console that are expected. A service worker
 * takes requests out of the reach of `page.route`, so only the test about it lets one run.
 */
export async function browse(test, { quiet = [], viewport = { width: 1280, height: 800 }, colorScheme = 'light', serviceWorkers = 'block' } = {}) {
  const link = process.argv[2];
  assert.ok(link, 'the link of the server is the first argument');
  const browser = await launch();
  try {
    const context = await browser.newContext({ viewport, colorScheme, serviceWorkers, reducedMotion: 'reduce' });
    await hamper(context);
    const page = await context.newPage();
    const errors = [];
    const watch = (one) => {
      one.on('pageerror', (error) => errors.push(`page: ${error.message}`));
      one.on('console', (message) => message.type() === 'error' && errors.push(`console: ${message.text()}`));
    };
    context.on('page', watch);
    watch(page);
    await page.goto(link);
    try {
      await test({ page, context, browser, root: new URL(link).origin });
    } catch (error) {
      // What a person would have seen says more than what was waited for.
      const seen = await page.locator('body').innerText({ timeout: 1000 }).catch(() => 'nothing');
      throw new Error(`${error.message}\n--- ${page.url()}\n${seen}\n--- ${errors.join('\n')}`, { cause: error });
    }
    const unexpected = errors.filter((error) => !quiet.some((pattern) => pattern.test(error)));
    assert.deepEqual(unexpected, [], 'the console stays clean');
  } finally {
    await browser.close();
  }
}

/** Waits as long as is sensible in a new context, and slows it down if that is wished for. */
export async function hamper(context) {
  context.setDefaultTimeout(PATIENCE);
  if (!(SLOW > 1)) return;
  console.error(`TRIMTAB_BROWSER_SLOW=${SLOW} TRIMTAB_BROWSER_SEED=${SEED}`);
  let drawn = SEED;
  await context.route('**/api/**', async (route) => {
    // A linear congruence (the constants are those of Numerical Recipes): good enough to be uneven.
    drawn = (Math.imul(drawn, 1664525) + 1013904223) >>> 0;
    await new Promise((resolve) => setTimeout(resolve, (LONGEST_DELAY * drawn) / 2 ** 32));
    // A page that is closed meanwhile asks for nothing any more.
    await route.continue().catch(() => undefined);
  });
  context.on('page', async (page) => {
    const session = await context.newCDPSession(page).catch(() => undefined);
    await session?.send('Emulation.setCPUThrottlingRate', { rate: SLOW }).catch(() => undefined);
  });
}

/** Goes to the first page. */
export async function home(page) {
  await page.goto(new URL('/#/', page.url()).href);
  // The address is another one before the page is: a session has a message box of the same name.
  await page.getByRole('heading', { name: 'What should we work on?' }).waitFor();
}

/** Says something in a new session, and trusts the folder if that is asked. */
export async function begin(page, words, { trusts = false } = {}) {
  await home(page);
  await page.getByLabel('Your message').fill(words);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/#\/s\//);
  if (trusts) await page.getByRole('region').getByRole('button', { name: /trust/i }).first().click();
}

const WIDTHS = [[280, 600], [360, 640], [768, 1024], [1280, 800], [1920, 1080]];

/** No serious or moderate complaint about what a person with other means would meet, in either look, and nothing cut off at any width. */
export async function accessible(page, what, { widths = true } = {}) {
  const dark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches);
  // Only colours differ between the looks; they alone are looked at twice.
  for (const [colorScheme, rules] of [[dark ? 'light' : 'dark', ['color-contrast']], [dark ? 'dark' : 'light', null]]) {
    await page.emulateMedia({ colorScheme });
    const axe = new AxeBuilder({ page }).options({ rules: { 'target-size': { enabled: true } } });
    const found = await (rules ? axe.withRules(rules) : axe).analyze();
    // A model chooses the levels of its own headings.
    const serious = found.violations.filter((one) => one.impact !== 'minor' && one.id !== 'heading-order');
    const told = serious.map((one) => `${one.id}: ${one.help}\n${one.nodes.map((node) => `    ${node.html}\n    ${node.failureSummary}`).join('\n')}`);
    assert.deepEqual(told, [], `${what} can be used by everybody in the ${colorScheme} look`);
  }
  if (widths) await fits(page, what);
}

/** Nothing is wider than the page, and nothing that can be pressed is cut off, from an editor's side panel to a wall. */
export async function fits(page, what, sizes = WIDTHS) {
  const before = page.viewportSize();
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    await becomes(() => page.evaluate(cutOff), [], `${what} fits into ${width} × ${height}`);
  }
  await page.setViewportSize(before);
}

/** Runs in the page: what is too wide, and which buttons, links and fields a person cannot get into sight. */
async function cutOff() {
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  const found = [];
  const root = document.documentElement;
  for (const box of [root, document.body, document.querySelector('main')]) {
    if (box && box.scrollWidth > box.clientWidth) found.push(`${box.localName} is ${box.scrollWidth - box.clientWidth} too wide`);
  }
  const top = document.querySelector('dialog[open]') ?? document;
  for (const node of top.querySelectorAll('button, a[href], summary, select, textarea, input:not([type=file])')) {
    if (node.matches('.skip, .veil') || !node.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue;
    const box = node.getBoundingClientRect();
    const free = { x: false, y: false };
    for (let over = node; over && !(free.x && free.y); over = over.parentElement) {
      const style = getComputedStyle(over);
      const frame = over === document.body ? { left: 0, top: 0, right: innerWidth, bottom: innerHeight } : over.getBoundingClientRect();
      const holds = { x: box.left >= frame.left - 1 && box.right <= frame.right + 1, y: box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1 };
      const words = () => (node.getAttribute('aria-label') ?? node.textContent ?? node.id).trim().slice(0, 60);
      for (const [axis, flow] of [['x', style.overflowX], ['y', style.overflowY]]) {
        if (over !== node && (flow === 'auto' || flow === 'scroll')) free[axis] = true;
        else if (!free[axis] && !holds[axis] && (flow !== 'visible' || over === document.body)) {
          found.push(`“${words()}” is cut off by ${over.localName}.${over.className} (${Math.round(box.left)}–${Math.round(box.right)}, ${Math.round(box.top)}–${Math.round(box.bottom)})`);
          free.x = free.y = true;
        }
      }
      if (style.position === 'fixed' || over === top) break;
    }
    const style = getComputedStyle(node);
    if (style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis' && node.scrollWidth > node.clientWidth + 1) found.push(`the words of “${node.textContent.trim().slice(0, 60)}” are cut off`);
  }
  return found;
}

/** Says something more in the session that is open. */
export async function say(page, words) {
  // While a request runs, words are told to it; they are a request of their own once nothing does.
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await page.getByLabel('Your message').fill(words);
  await page.keyboard.press('Enter');
  await received(page, words);
}

/** What was said is a request of the conversation, and its last one: no longer only on its way. */
export async function received(page, words) {
  await page.getByRole('log').locator('article:last-of-type .bubble', { hasText: words }).last().waitFor();
}

/** Reads again and again until what is read passes; fails with the last complaint. For what no locator can wait for. */
export async function eventually(read, passes) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await read();
    try {
      passes(found);
      return found;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

/** A question takes answers from half a second after it appeared. */
export const armed = (question) =>
  eventually(
    () => question.evaluate((node) => node.matches('.arming')),
    (arming) => assert.equal(arming, false),
  );

/** Answers a question by a key, as whoever has gone there by key. */
export async function press(page, question, key) {
  await armed(question);
  await page.keyboard.press('Control+.');
  await page.keyboard.press(key);
}

/** What the page draws and hears in its next frames has been drawn and heard. */
export const frames = (page) =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  });

/** Opens the list of everything that can be done, and does what these words find. */
export async function choose(page, words) {
  const palette = page.getByRole('dialog', { name: 'Commands and sessions' });
  await page.keyboard.press('Control+k');
  await palette.getByRole('combobox').fill(words);
  await page.keyboard.press('Enter');
  await palette.waitFor({ state: 'detached' });
}

/** What is read becomes this in the end. */
export const becomes = (read, wanted, why) => eventually(read, (found) => assert.deepEqual(found, wanted, why));
