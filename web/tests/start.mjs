// The first page: examples fill the box and send nothing; folders of earlier sessions are offered.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse, eventually } from './browse.mjs';

await browse(async ({ page, root }) => {
  const box = page.getByLabel('Your message');
  const examples = page.getByRole('list', { name: 'Examples' }).getByRole('button');
  if (process.argv[3] === 'demo') {
    await page.getByText('This is the demo').waitFor();
    assert.equal(await examples.count(), 0, 'a recording knows no other wish');
    await accessible(page, 'the start of the demonstration');
    await page.getByRole('button', { name: /^Try: / }).click();
    assert.equal(await box.inputValue(), 'Make greet.sh work without a name');
    await page.getByRole('button', { name: 'Plan', pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.waitForURL(/#\/s\//);
    await page.getByRole('log').locator('.bubble', { hasText: 'Make greet.sh work' }).waitFor();

    // The second request shows sub-tasks, with one click.
    await page.goto(`${root}/#/`);
    await page.getByLabel('Folder').fill(process.argv[4]);
    await page.getByRole('button', { name: /^Try sub-tasks: / }).click();
    assert.equal(await box.inputValue(), 'Add a usage text and a license, and document both');
    await page.getByRole('button', { name: 'Auto', pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'Yes, I trust this folder' }).click();
    // A plan is read to its end before it can be started.
    const plan = page.getByRole('region', { name: /Execution Plan/ });
    await plan.getByText('Estimated cost').waitFor();
    await plan.locator('.scroll').evaluate((node) => node.scrollTo(0, node.scrollHeight));
    await page.getByRole('button', { name: 'Start A' }).click();
    await page.getByRole('region', { name: 'Sub-tasks' }).getByText('3 of 3 sub-tasks completed').waitFor();
    await page.getByRole('log').getByText('✓ Done').waitFor();
    return;
  }
  await examples.first().waitFor();
  await accessible(page, 'the first page');
  const words = await examples.nth(2).locator('span').first().innerText();
  await examples.nth(2).click();
  assert.equal(await box.inputValue(), words);
  await page.getByRole('button', { name: 'Plan', pressed: true }).waitFor();
  assert.equal(new URL(page.url()).hash, '', 'nothing was sent');
  assert.deepEqual(await page.evaluate(async () => (await (await fetch('/api/sessions')).json()).sessions), []);

  await begin(page, 'What is Trimtab?');
  await page.getByRole('log').getByText('✓ Done').waitFor();
  await page.goto(`${root}/#/`);
  const folder = page.getByLabel('Folder');
  const first = await eventually(() => folder.inputValue(), (found) => assert.notEqual(found, ''));
  await folder.fill('/elsewhere');
  // The list of sessions, which it is known from, comes by itself.
  await becomes(() => page.locator('#folders option').evaluateAll((all) => all.map((one) => one.value)), [first]);
});
