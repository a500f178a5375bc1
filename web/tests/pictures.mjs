// Pictures are asked for, looked at, made anew in their place, chosen and saved.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { accessible, begin, browse, eventually } from './browse.mjs';

const project = process.argv[3];

await browse(async ({ page }) => {
  await begin(page, 'Draw 3 icons');
  const gallery = page.getByRole('region', { name: 'Generated images' });
  await gallery.getByText('Generated Images (3)').waitFor();
  await gallery.getByText('Hover to enlarge • Click to view full size').waitFor();
  await page.getByRole('log').getByText('✓ Done').first().waitFor();
  await eventually(() => page.getByRole('log').innerText(), (words) => assert.match(words, /\$0\.21/));
  const thumbs = gallery.getByRole('button', { name: /^Enlarge/ });
  assert.equal(await thumbs.count(), 3);

  // Hover enlarges, a click opens the picture, Escape closes it.
  const first = thumbs.first();
  const small = await first.boundingBox();
  await first.hover();
  await eventually(() => first.boundingBox(), (large) => assert.ok(large.width > small.width, 'it grows under the pointer'));
  await first.click();
  const box = page.getByRole('dialog', { name: 'a wave' });
  await box.getByRole('img').waitFor();
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'hidden' });
  await accessible(page, 'the gallery');

  // The prompt is edited and added to; the new picture takes the place of the old one.
  const sources = () => gallery.locator('.thumb img').evaluateAll((images) => images.map((image) => image.getAttribute('src')));
  const before = await sources();
  await gallery.getByRole('button', { name: 'Regenerate image 1' }).click();
  const popup = page.getByRole('dialog', { name: 'Regenerate Image' });
  await popup.getByText('🔄 Regenerate Image').waitFor();
  await popup.getByText('💡 Edit the prompt above or add to it below:').waitFor();
  assert.equal(await popup.getByLabel('Original Prompt:').inputValue(), 'a wave');
  await accessible(page, 'the prompt editor');
  await popup.getByLabel('Original Prompt:').fill('a wave at night');
  await popup.getByLabel('Add refinement').fill('make it darker');
  await popup.getByRole('button', { name: 'Regenerate', exact: true }).click();
  await page.waitForFunction((old) => document.querySelector('.gallery .thumb img')?.getAttribute('src') !== old, before[0]);
  const after = await sources();
  assert.deepEqual(after.slice(1), before.slice(1), 'the others stay where they are');

  // Only what is chosen is saved, where the person says.
  const save = gallery.getByRole('button', { name: '💾 Save Selected' });
  assert.ok(await save.isDisabled(), 'nothing is chosen yet');
  await gallery.getByRole('checkbox', { name: 'Select image 2' }).check();
  await gallery.getByRole('checkbox', { name: 'Select image 3' }).check();
  await save.click();
  await gallery.getByLabel('Folder').fill('art');
  await gallery.getByRole('button', { name: 'Save 2' }).click();
  await page.getByRole('button', { name: /trust this folder/i }).first().click();
  await page.getByRole('log').getByText('Saved 2 images: art/image-001.png, art/image-002.png.').first().waitFor();
  assert.deepEqual(fs.readdirSync(path.join(project, 'art')).sort(), ['image-001.png', 'image-002.png']);

  // What was chosen is remembered by the server, not by the page.
  await page.reload();
  await gallery.getByRole('checkbox', { name: 'Select image 3' }).waitFor();
  assert.ok(await gallery.getByRole('checkbox', { name: 'Select image 3' }).isChecked());
  assert.ok(!(await gallery.getByRole('checkbox', { name: 'Select image 1' }).isChecked()));
});
