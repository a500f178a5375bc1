// A model that writes whatever it likes runs nothing and loads nothing.

import assert from 'node:assert/strict';
import { begin, browse, eventually } from './browse.mjs';

await browse(async ({ page, context }) => {
  const asked = [];
  context.on('request', (request) => asked.push(request.url()));
  let ran = 0;
  await page.exposeFunction('ran', () => (ran += 1));
  await begin(page, 'Say something bad');
  await page.getByRole('log').getByText('✓ Done').waitFor();
  // Some of it would come a moment later; and what was asked before this page's own question is known when that is.
  await page.waitForTimeout(500);
  await page.evaluate(async () => void (await fetch('/api/settings?last')));
  await eventually(() => asked.some((url) => url.endsWith('?last')), assert.ok);
  assert.equal(ran, 0, 'no script of the model ran');
  const elsewhere = asked.filter((url) => new URL(url).origin !== new URL(page.url()).origin && !url.startsWith('data:'));
  assert.deepEqual(elsewhere, [], 'nothing was asked of anybody else');
  const log = page.getByRole('log');
  // Icons and formulas are the page's own: it draws them itself, from names and from nodes.
  const foreign = await log.evaluate((node) => {
    const own = (one) => one.closest('svg.lucide') || (one.closest('.math, .formula') && !one.matches('[href], a, maction, mglyph, [style]'));
    return [...node.querySelectorAll('script, iframe, object, embed, svg, math, math *, img, video, audio, form, input, meta, base, link, style, template, [style]:not(canvas), [background], [ping]')].filter((one) => !own(one)).map((one) => one.outerHTML);
  });
  assert.deepEqual(foreign, []);
  const handlers = await log.evaluate((node) => [...node.querySelectorAll('*')].flatMap((one) => [...one.attributes]).filter((one) => /^on/i.test(one.name) || /^\s*javascript:/i.test(one.value)).map((one) => one.name));
  assert.deepEqual(handlers, []);
  const links = await log.locator('a[target]').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  assert.ok(links.every((href) => /^(https?:|mailto:)/.test(href)), String(links));
});
