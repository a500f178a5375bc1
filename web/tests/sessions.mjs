// A session gets another name, goes on in a copy, and is taken along as a file.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessible, begin, browse, choose } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'What is Trimtab?');
  await log.getByText('✓ Done').waitFor();
  const first = page.url();

  // The first load of a session stays small.
  await page.reload();
  await log.getByText('✓ Done').waitFor();
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const sizes = await page.evaluate(() => performance.getEntriesByType('resource').filter((one) => !new URL(one.name).pathname.startsWith('/api/')).map((one) => [one.encodedBodySize, one.name]));
  const all = sizes.reduce((sum, [size]) => sum + size, 0);
  assert.ok(sizes.length > 5 && all > 60_000, `the measure sees what is loaded: ${JSON.stringify(sizes)}`);
  // 120 KB, as sizes are counted everywhere here.
  assert.ok(all <= 120 * 1024, `the first load is ${all} bytes: ${JSON.stringify(sizes, null, 1)}`);

  await page.getByRole('heading', { level: 1 }).getByRole('button').click();
  const name = page.getByRole('dialog', { name: 'Session title' });
  await name.getByRole('textbox').fill('Rudders');
  await accessible(page, 'another name for a session');
  await page.keyboard.press('Enter');
  await name.waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'Rudders' }).waitFor();
  await page.getByRole('navigation').getByText('Rudders').waitFor();

  await choose(page, 'fork');
  await page.waitForURL((url) => url.href !== first && url.hash.startsWith('#/s/'));
  const copy = new URL(page.url()).hash;
  await page.getByRole('navigation').locator(`a[href="${copy}"][aria-current=page]`).waitFor();
  await log.getByText('A small surface on a rudder.').waitFor();

  const [file] = await Promise.all([page.waitForEvent('download'), choose(page, 'export this')]);
  assert.equal(file.suggestedFilename(), `${copy.slice('#/s/'.length)}.json`, 'it is the one that is open');
  const exported = JSON.parse(readFileSync(await file.path(), 'utf8'));
  assert.match(JSON.stringify(exported), /What is Trimtab\?/);

  const [text] = await Promise.all([page.waitForEvent('download'), choose(page, 'as markdown')]);
  assert.equal(text.suggestedFilename(), 'rudders.md');
  assert.equal(readFileSync(await text.path(), 'utf8'), '# Rudders\n\n## You\n\n> What is Trimtab?\n\n## Trimtab\n\nA small surface on a rudder.\n');
  const [whole] = await Promise.all([page.waitForEvent('download'), choose(page, 'as html')]);
  assert.match(readFileSync(await whole.path(), 'utf8'), /<title>Rudders<\/title>[^]*A small surface on a rudder\./);
});
