// Where the program stops and asks: a budget, a command whose end nobody saw, a session that is full, and what
// cannot be undone.

import assert from 'node:assert/strict';
import { accessible, begin, browse, choose, eventually, say } from './browse.mjs';

const tell = (word) => process.stdout.write(`${word}\n`);
const heard = () => new Promise((resolve) => process.stdin.once('data', (data) => resolve(String(data).trim())));

await browse(
  async ({ page }) => {
    const log = page.getByRole('log');

    // The program is killed while a command runs: how that ended is not known, and nothing is done about it unasked.
    await begin(page, 'Run something long');
    const command = page.getByRole('region', { name: /Run this command\?/ });
    await command.getByRole('button', { name: 'Allow this time' }).click();
    await log.getByText('Stop this').waitFor();
    await log.getByLabel('Output').getByText('began').waitFor();
    tell('end');
    await page.getByText('Connection lost').waitFor();
    tell('lost');
    assert.equal(await heard(), 'back');
    const outcome = page.getByRole('region', { name: /sleep/ });
    await outcome.waitFor();
    for (const name of ['Run it again', 'Continue without it', 'Stop here']) {
      await outcome.getByRole('button', { name }).waitFor();
    }
    await accessible(page, 'a command whose end nobody saw');
    await outcome.getByRole('button', { name: 'Continue without it' }).click();
    await log.getByText('I know now that it was cut off.').waitFor();

    // The budget is spent; it is raised by a person or not at all.
    await say(page, 'Spend more');
    const budget = page.getByRole('region', { name: /budget/i });
    await budget.waitFor();
    await eventually(() => budget.innerText(), (words) => assert.match(words, /Spent \$.* of \$/));
    await accessible(page, 'a budget that is spent');
    await budget.getByRole('button', { name: 'Stop here' }).click();
    await budget.waitFor({ state: 'detached' });

    // Deleting says what goes with it, and the safe way out is the one that is offered first.
    await choose(page, 'delete this');
    const sure = page.getByRole('dialog', { name: 'Delete this session?' });
    assert.match(await sure.innerText(), /2 requests/);
    await accessible(page, 'a question before something is gone');
    await sure.getByRole('button', { name: 'Keep it' }).click();
    await sure.waitFor({ state: 'detached' });
    await choose(page, 'delete this');
    await sure.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL(/#\/$/);
    assert.equal(await page.evaluate(async () => (await (await fetch('/api/sessions')).json()).sessions.length), 0);
    process.stdin.destroy();
  },
  { quiet: [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/, /ERR_CONNECTION_RESET/, /ERR_NETWORK_CHANGED/] },
);
