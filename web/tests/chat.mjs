// A request from the first word to what can be done next.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse, choose, press } from './browse.mjs';

await browse(async ({ page }) => {
  assert.equal(new URL(page.url()).search, '', 'the secret is gone from the address');
  await page.getByRole('list', { name: 'Examples' }).waitFor();
  await accessible(page, 'the first page');

  await begin(page, 'Make it, please. #parser', { trusts: true });
  const log = page.getByRole('log');
  await log.getByText('Make it, please. #parser').waitFor();
  assert.equal(await page.getByLabel('Your message').inputValue(), '', 'the box is empty at once');

  // The command asks, with the exact words, and runs once it is allowed.
  const question = page.getByRole('region', { name: /Run this command\?/ });
  await question.waitFor();
  await accessible(page, 'a question');
  assert.match(await question.innerText(), /echo made > made\.txt/);
  assert.match(await question.innerText(), /Reason:/);
  for (const label of ['Allow this time', 'Always allow', 'Wait and tell Trimtab what to do differently', 'Never allow']) {
    await question.getByRole('button', { name: label }).waitFor();
  }
  assert.equal(await log.getByText('Pending').count(), 1);
  await press(page, question, '1');
  await question.waitFor({ state: 'detached' });

  await log.getByText('✓ Done').waitFor();
  // What was allowed is told once, in the card of the command, and not as a question that was answered.
  const card = log.locator('.tool.card', { hasText: 'echo made > made.txt' });
  await card.getByText('Allowed by you').waitFor();
  assert.equal(await log.getByText('Run this command?').count(), 0);
  await log.getByRole('heading', { name: 'What was done' }).waitFor();
  await log.locator('strong', { hasText: 'bold words' }).waitFor();
  await log.locator('.hljs-keyword', { hasText: 'fn' }).waitFor();
  await accessible(page, 'a finished turn');

  // It is all there again after a reload.
  await page.reload();
  await log.getByText('✓ Done').waitFor();

  // A draft outlives the page.
  await page.getByLabel('Your message').fill('half a thought');
  await page.reload();
  await log.getByText('✓ Done').waitFor();
  await becomes(() => page.getByLabel('Your message').inputValue(), 'half a thought');

  // Everything by keyboard.
  await page.getByLabel('Your message').fill('');
  await choose(page, 'changes');
  await page.waitForURL(/changes$/);
});
