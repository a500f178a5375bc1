// Every view, on a phone and on a desk, light and dark: usable by everybody, and nothing wider than the screen.

import assert from 'node:assert/strict';
import { accessible, begin, browse } from './browse.mjs';

await browse(async ({ page, context, browser, root }) => {
  await begin(page, 'What is a trim tab?');
  await page.getByRole('log').getByText('✓ Done').waitFor();
  const session = new URL(page.url()).hash;
  const storageState = await context.storageState();
  for (const [width, height, colorScheme] of [[360, 740, 'light'], [1280, 800, 'dark'], [280, 600, 'dark']]) {
    const sized = await browser.newContext({ viewport: { width, height }, colorScheme, storageState, reducedMotion: 'reduce' });
    const view = await sized.newPage();
    for (const place of ['#/', session, `${session}/changes`, `${session}/trace`, '#/tasks', '#/usage', '#/audit', '#/settings']) {
      await view.goto(`${root}/${place}`);
      await view.waitForLoadState('networkidle').catch(() => undefined);
      await accessible(view, `${place} at ${width}`);
      const wide = await view.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${place} at ${width} is ${wide} too wide`);
      if (process.env.TRIMTAB_SHOTS) {
        const name = `${place.replace(session, 'session').replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'home'}-${width}-${colorScheme}.png`;
        await view.screenshot({ path: `${process.env.TRIMTAB_SHOTS}/${name}` });
      }
    }
    await sized.close();
  }
});
