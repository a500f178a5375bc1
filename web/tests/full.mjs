// A session that is nearly full goes on in a new one, with what was open in the box.

import assert from 'node:assert/strict';
import { accessible, begin, browse, eventually, say } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'Fill it up');
  await log.getByText('✓ Done').waitFor();
  await say(page, 'And more');
  const full = page.getByRole('region', { name: /of the context window.*How do you want to continue\?/ });
  for (const name of ['Handoff', 'Extend', 'Cancel']) await full.getByRole('button', { name: new RegExp(`${name}:`) }).waitFor();
  await accessible(page, 'a session that is full');
  const before = page.url();
  await full.getByRole('button', { name: /Handoff:/ }).click();
  await page.waitForURL((url) => url.href !== before && url.hash.startsWith('#/s/'));
  await page.getByText('Continues an earlier session').waitFor();
  await eventually(() => page.getByLabel('Your message').inputValue(), (words) => assert.match(words, /Open task/, 'what was open stands in the box'));
});
