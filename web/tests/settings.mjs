// Settings are changed in the page: a preference and a stricter value at once, a looser one only with the code that the
// server prints in its terminal. Rules and trusted folders are removed. Extensions are listed with their reasons.

import assert from 'node:assert/strict';
import { accessible, becomes, browse, choose } from './browse.mjs';

/** The one who started this test reads the code in the terminal, and tells it. */
const tell = (word) => process.stdout.write(`${word}\n`);
const heard = () => new Promise((resolve) => process.stdin.once('data', (data) => resolve(String(data).trim())));

await browse(
  async ({ page, root }) => {
    await page.goto(`${root}/#/settings`);
    const settings = page.getByRole('region', { name: 'Settings' });
    const field = (name) => settings.locator(`[id="main-${name}"]`);
    const row = (name) => settings.getByRole('listitem').filter({ has: page.locator(`[id="main-${name}"]`) });
    await row('effort').getByText('Default', { exact: false }).first().waitFor();

    // A preference is saved at once, and can be reset.
    await field('effort').selectOption('high');
    await row('effort').getByText('Saved.').waitFor();
    await row('effort').getByText('Settings file, line').waitFor();
    await row('effort').getByRole('button', { name: 'Reset Effort' }).click();
    await becomes(() => field('effort').inputValue(), 'auto');
    await row('effort').getByRole('button', { name: 'Reset Effort' }).waitFor({ state: 'detached' });

    // A wrong value is told with what would do, and stays to be corrected.
    await field('limits.budget_usd').fill('lots');
    await page.keyboard.press('Enter');
    await row('limits.budget_usd').getByRole('alert').getByText('Invalid value').waitFor();
    assert.equal(await field('limits.budget_usd').inputValue(), 'lots');
    await field('limits.budget_usd').fill('2.5');
    await row('limits.budget_usd').getByRole('button', { name: 'Save' }).click();
    await row('limits.budget_usd').getByText('Saved.').waitFor();

    // Stricter at once. Looser needs the code.
    await field('commands.sandbox').selectOption('read-only');
    await row('commands.sandbox').getByText('Saved.').waitFor();
    await field('commands.sandbox').selectOption('off');
    const dialog = page.getByRole('dialog', { name: 'Enter the code' });
    await dialog.getByText('Confirm it with the code in the terminal').waitFor();
    await accessible(page, 'a change that needs a code');
    await dialog.getByLabel('Code').fill('0000-0000');
    await page.keyboard.press('Enter');
    await dialog.getByText('This is not the code in the terminal.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await becomes(() => field('commands.sandbox').inputValue(), 'read-only', 'nothing was changed');
    await field('commands.sandbox').selectOption('off');
    await dialog.waitFor();
    tell('code');
    await dialog.getByLabel('Code').fill(await heard());
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await row('commands.sandbox').getByText('Saved.').waitFor();
    assert.equal(await field('commands.sandbox').inputValue(), 'off');

    // A setting of the environment cannot be changed, and says so.
    await settings.getByLabel('Search settings').fill('limits.steps');
    await settings.getByText('This overrides the settings file.').waitFor();
    await settings.getByLabel('Search settings').fill('anthropic.base_url');
    await settings.getByText('overrides').or(settings.getByText('trimtab config set')).first().waitFor();
    await settings.getByLabel('Search settings').fill('no such thing');
    await settings.getByText('No matching settings.').waitFor();
    await settings.getByLabel('Search settings').fill('');

    // Rules and trust.
    const rules = settings.getByRole('list', { name: 'Rules' });
    await rules.getByText('cargo test *').waitFor();
    await rules.getByRole('listitem').filter({ hasText: 'cargo test' }).getByRole('button').click();
    await rules.getByText('cargo test *').waitFor({ state: 'detached' });
    await rules.getByRole('listitem').filter({ hasText: 'git push' }).getByRole('button').click();
    await dialog.getByRole('heading', { name: 'Remove this rule?' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await rules.getByText('git push *').waitFor();
    await settings.getByRole('button', { name: /Stop trusting/ }).click();
    await settings.getByText('No folder is trusted yet.').waitFor();
    await accessible(page, 'settings with rules');

    // Extensions, by the list of commands and by the navigation.
    await choose(page, 'extensions');
    const extensions = page.getByRole('region', { name: 'Extensions' });
    await extensions.getByText('This folder is not trusted').waitFor();
    await extensions.getByRole('heading', { name: /Skills/ }).waitFor();
    await extensions.getByText('tidy').first().waitFor();
    await extensions.getByText('Loaded').first().waitFor();
    await accessible(page, 'extensions');
    await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click();
    await settings.waitFor();
    process.stdin.destroy();
  },
  { quiet: [/409/, /422/] },
);
