// The files of the folder: a tree by keyboard, a file with its colors, a preview of Markdown, images, and pages, and what is not
// shown. Then the settings with what each is for, and a server that does not answer.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse } from './browse.mjs';

await browse(async ({ page, root }) => {
  const log = page.getByRole('log');
  await begin(page, 'Show formulas');
  await log.getByText('✓ Done').waitFor();

  // Formulas and a chart are drawn, and the end stays in sight.
  await log.locator('math mfrac').waitFor();
  await log.getByRole('img', { name: 'Chart: Sales' }).waitFor();
  assert.equal(await log.locator('math').count(), 2);
  await becomes(() => log.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight < 2), true, 'the end is in sight');
  await accessible(page, 'formulas and a chart');

  await page.getByRole('link', { name: 'Files' }).click();
  const tree = page.getByRole('tree', { name: 'Files in the folder' });
  const item = (name) => tree.getByRole('treeitem', { name, exact: true });
  await item('src').waitFor();
  assert.equal(await item('main.rs').count(), 0, 'a folder is closed at first');
  await item('src').focus();
  for (const key of ['ArrowRight', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  const files = page.getByRole('region', { name: 'Files' });
  await files.locator('.hljs-keyword', { hasText: 'fn' }).waitFor();
  await becomes(() => item('main.rs').evaluate((node) => node === document.activeElement), true, 'the keyboard stays in the tree');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await item('main.rs').waitFor({ state: 'detached' });
  await accessible(page, 'files');
  await item('README.md').click();
  await files.getByRole('heading', { name: 'Kite' }).waitFor();
  assert.equal(await files.locator('script, iframe').count(), 0, 'Markdown of a file is harmless');
  await files.getByRole('button', { name: 'Show source' }).click();
  await files.locator('pre', { hasText: '# Kite' }).waitFor();
  await item('dot.png').click();
  await files.getByRole('img', { name: 'dot.png' }).waitFor();
  await item('mark.svg').click();
  await files.getByRole('button', { name: 'Show preview' }).click();
  await becomes(() => files.getByRole('img', { name: 'mark.svg' }).evaluate((image) => image.complete && image.naturalWidth), 40, 'a drawing is drawn');
  // A page of the folder is shown in a frame in which nothing runs and nothing is loaded.
  await item('page.html').click();
  const frame = files.frameLocator('iframe[title="Preview of page.html"]');
  await frame.getByRole('heading', { name: 'A page' }).waitFor();
  assert.equal(await frame.locator('#run').innerText(), 'not run', 'no script of the page runs');
  assert.equal(await frame.getByRole('heading').evaluate((node) => getComputedStyle(node).color), 'rgb(1, 2, 3)', 'its styles count');
  await frame.getByRole('link').click();
  await frame.getByRole('heading', { name: 'A page' }).waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).hash.endsWith('/files'), true, 'the page around it stays');
  await files.getByRole('button', { name: 'Show source' }).click();
  await files.locator('pre', { hasText: 'not run' }).waitFor();
  await files.getByRole('button', { name: 'Show preview' }).click();
  await item('.env').click();
  await files.getByText('.env usually holds keys or passwords. Open it in an editor.').waitFor();
  await page.getByLabel('Search files').fill('main');
  await becomes(() => tree.getByRole('treeitem').allInnerTexts(), ['src/main.rs']);

  // Settings say what they are for and where they come from.
  await page.goto(`${root}/#/settings`);
  const settings = page.getByRole('region', { name: 'Settings' });
  await settings.getByText(/^When Trimtab asks about a step of a plan/).first().waitFor();
  const pace = settings.getByRole('listitem').filter({ has: page.locator('[id="main-copilot.pace"]') });
  await pace.locator('summary').click();
  await pace.getByText('TRIMTAB_COPILOT_PACE').waitFor();
  await pace.getByText('[copilot]\npace = "autonomous"').waitFor();
  await accessible(page, 'the switches');

  // The page of its own is there once the server is not.
  await page.goto(`${root}/`);
  await becomes(() => page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active?.state), 'activated');
  await becomes(() => page.evaluate(async () => (await caches.match('/offline.html'))?.status), 200);
}, { quiet: [/409/, /Blocked script execution/, /Content Security Policy/, /violates the following directive/], serviceWorkers: 'allow' });
