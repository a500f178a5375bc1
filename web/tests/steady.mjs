// While words arrive nothing that stands on the page already is moved under the eyes of whoever reads it.

import assert from 'node:assert/strict';
import { becomes, begin, browse, frames, say } from './browse.mjs';

const tell = (word) => process.stdout.write(`${word}\n`);

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'Something to begin with');
  await log.getByText('✓ Done').waitFor();
  await page.evaluate(() => {
    window.moved = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        // What a person's own key or touch moves is expected to move, and so is the line below the words that grow.
        const sources = entry.sources.filter((one) => !(one.node instanceof Element && one.node.matches('.status')));
        if (!entry.hadRecentInput && sources.length) window.moved.push({ time: entry.startTime, value: entry.value, what: sources.map((one) => `${one.node?.nodeName}.${one.node?.className ?? ''} ${one.previousRect.y}→${one.currentRect.y}`) });
      }
    }).observe({ type: 'layout-shift' });
  });
  await say(page, 'And now slowly');
  await log.locator('.dots').last().waitFor();
  // What follows the last key at once counts as moved by it; what came before the words is another matter.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
  await frames(page);
  const begun = await page.evaluate(() => performance.now());
  const last = log.locator('article').last();
  for (let n = 0; n < 80 && (await last.getByText('✓ Done').count()) === 0; n++) {
    tell('more');
    await frames(page);
  }
  await last.getByText('✓ Done').waitFor();
  await becomes(() => last.getByRole('heading', { level: 2 }).count(), 5);
  await frames(page);

  // The measure would have seen it: it tells of something that is moved on purpose, and has told of all else by then.
  const ended = await page.evaluate(() => {
    const high = document.createElement('div');
    high.style.height = '200px';
    document.querySelector('main header').after(high);
    return performance.now();
  });
  await page.waitForFunction((ended) => window.moved.some((one) => one.time >= ended && one.value > 0.01), ended);
  const moved = (await page.evaluate(() => window.moved)).filter((one) => one.time >= begun && one.time < ended);
  const sum = moved.reduce((all, one) => all + one.value, 0);
  assert.ok(sum < 0.01, `moved by ${sum}: ${JSON.stringify(moved, null, 1)}`);
});
