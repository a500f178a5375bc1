// The server goes away in the middle of an answer and comes back: the page says so, loses nothing and goes on.
// Another page of the same session shows the same.

import assert from 'node:assert/strict';
import { becomes, begin, browse } from './browse.mjs';

/** The one who started this test ends the server when told to, starts it when that was seen, and says when it is back. */
const tell = (word) => process.stdout.write(`${word}\n`);
const heard = () => new Promise((resolve) => process.stdin.once('data', (data) => resolve(String(data).trim())));

await browse(
  async ({ page, context }) => {
    await begin(page, 'A long answer');
    const log = page.getByRole('log');
    await log.getByText('The first half').waitFor();
    const other = await context.newPage();
    await other.goto(page.url());
    await other.getByRole('log').getByText('The first half').waitFor();

    tell('end');
    await page.getByText('Connection lost').waitFor();
    await page.getByLabel('Your message').fill('typed while it was away');
    tell('lost');
    assert.equal(await heard(), 'back');
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    // The server goes on by itself with what it was doing.
    await log.getByText('and the second half.').waitFor();
    await log.getByText('✓ Done').waitFor();
    await becomes(() => page.getByLabel('Your message').inputValue(), 'typed while it was away');
    await other.getByRole('log').getByText('✓ Done').waitFor();
    process.stdin.destroy();
  },
  { quiet: [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/, /ERR_CONNECTION_RESET/] },
);
