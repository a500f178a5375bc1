// Two pages of one session, a network that comes and goes, and words that come slowly.

import assert from 'node:assert/strict';
import { becomes, begin, browse, say } from './browse.mjs';

const tell = (word) => process.stdout.write(`${word}\n`);

await browse(
  async ({ page, context }) => {
    const log = page.getByRole('log');
    await begin(page, 'Speak slowly', { trusts: false });
    // The words are there as they come, one after the other.
    await log.getByText('The first words').waitFor();
    assert.equal(await log.getByText('the last words').count(), 0);
    const other = await context.newPage();
    await other.goto(page.url());
    await other.getByRole('log').getByText('The first words').waitFor();

    // Whoever has scrolled away is left there, and led back when they want to.
    await log.getByText('Words that fill the screen.').nth(39).waitFor();
    await log.evaluate((node) => node.scrollTo(0, 0));
    await page.getByRole('button', { name: '↓ Newest' }).waitFor();
    tell('more');
    for (const one of [page, other]) await one.getByRole('log').getByText('the last words').waitFor({ state: 'attached' });
    assert.ok((await log.evaluate((node) => node.scrollTop)) < 40, 'the page stays where the person reads');
    await other.getByRole('log').getByText('✓ Done').waitFor();

    // No network: what is said comes back to the box, and arrives once there is one.
    await context.setOffline(true);
    await page.getByLabel('Your message').fill('Said in a tunnel');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').filter({ hasText: 'The server does not answer' }).waitFor();
    await becomes(() => page.getByLabel('Your message').inputValue(), 'Said in a tunnel');
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Send' }).click();
    await log.getByText('Heard you.').waitFor();
    await other.getByRole('log').getByText('Heard you.').waitFor();

    // One question, two pages: the one that answers second is told, and both show the same.
    await say(page, 'Ask me');
    const [here, there] = [page, other].map((one) => one.getByRole('region', { name: /trust the files/ }));
    await Promise.all([here.waitFor(), there.waitFor()]);
    await here.getByRole('button', { name: 'Yes, I trust this folder' }).click();
    await Promise.all([here.waitFor({ state: 'detached' }), there.waitFor({ state: 'detached' })]);
    for (const one of [page, other]) await one.getByRole('log').getByText('Asked and done.').waitFor();
  },
  { quiet: [/ERR_INTERNET_DISCONNECTED/] },
);
