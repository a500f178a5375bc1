// A real browser for the tests: signed in, watched for errors, closed at the end.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { AxeBuilder } from '@axe-core/playwright';

const CHROMIUM = process.env.TRIMTAB_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Runs a test in a page that has followed the link. `quiet`: messages of the console that are expected. */
export async function browse(test, { quiet = [], viewport = { width: 1280, height: 800 }, colorScheme = 'light' } = {}) {
  const link = process.argv[2];
  assert.ok(link, 'the link of the server is the first argument');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  try {
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
    context.setDefaultTimeout(20_000);
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

/** Says something in a new session, and trusts the folder if that is asked. */
export async function begin(page, words, { trusts = false } = {}) {
  await page.goto(new URL('/#/', page.url()).href);
  await page.getByLabel('Your message').fill(words);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/#\/s\//);
  if (trusts) await page.getByRole('region').getByRole('button', { name: /trust/i }).first().click();
}

/** No serious complaint about what a person with other means would meet. */
export async function accessible(page, what) {
  const found = await new AxeBuilder({ page }).analyze();
  const serious = found.violations.filter((one) => one.impact === 'serious' || one.impact === 'critical');
  const told = serious.map((one) => `${one.id}: ${one.help}\n${one.nodes.map((node) => `    ${node.html}\n    ${node.failureSummary}`).join('\n')}`);
  assert.deepEqual(told, [], `${what} can be used by everybody`);
}

/** Says something more in the session that is open. */
export async function say(page, words) {
  await page.getByLabel('Your message').fill(words);
  await page.keyboard.press('Enter');
  await page.getByRole('log').locator('.bubble', { hasText: words }).last().waitFor();
}
