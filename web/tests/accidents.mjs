// What a person does by accident, or is led to do, at a question. The second argument names the attack.

import assert from 'node:assert/strict';
import { armed, becomes, begin, browse, frames } from './browse.mjs';

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/;

/** Whether all of `part` is between the upper and the lower edge. The page needs a moment after its size changed. */
async function inSight(part, view) {
  const box = await part.boundingBox();
  return Boolean(box) && box.y >= 0 && box.y + box.height <= view.height;
}

const attacks = {
  async tell({ page, question }) {
    await page.keyboard.press('Control+.');
    await page.keyboard.press('3');
    const box = question.getByLabel('What should be done differently?');
    await box.waitFor();
    await page.keyboard.type('use 2 workers');
    assert.equal(await box.inputValue(), 'use 2 workers', 'the box has the keyboard from its first letter on');
    assert.equal(await question.count(), 1, 'nothing was answered');
    // A click leads to the same box.
    await page.reload();
    await armed(question);
    await question.getByRole('button', { name: /^\d? ?Wait and tell/ }).click();
    await page.keyboard.type('1 or 2 workers');
    assert.equal(await box.inputValue(), '1 or 2 workers');
    assert.equal(await question.count(), 1);
  },

  async focus({ page, question, composer }) {
    await page.keyboard.type('2 things to note');
    assert.equal(await composer.inputValue(), '2 things to note');
    assert.equal(await question.count(), 1, 'nothing was answered');
    await becomes(() => page.getByRole('status').filter({ hasText: 'Question: Run this command?' }).count(), 1, 'it is announced');
    await question.getByText('to answer from the keyboard').waitFor();
    // Nor does it answer to whoever has the keyboard nowhere.
    await page.evaluate(() => document.activeElement.blur());
    for (const key of ['1', '2', 'y', 'a', 'Enter']) await page.keyboard.press(key);
    await frames(page);
    assert.equal(await question.count(), 1);
    // In its first half second it answers nobody.
    await page.reload();
    await question.waitFor();
    assert.equal(await question.getByRole('button', { name: 'Allow this time' }).isDisabled(), true);
  },

  async part({ page }) {
    const change = page.getByRole('region', { name: 'Change poem.txt?' });
    await change.getByRole('checkbox', { name: 'Hunk 2 of poem.txt' }).uncheck();
    await armed(change);
    const always = change.getByRole('button', { name: /Always allow/ });
    await becomes(() => always.isDisabled(), true);
    assert.equal(await always.locator('kbd').count(), 0, 'a disabled answer shows no key');
    for (const key of ['2', 'a']) await page.keyboard.press(key);
    await frames(page);
    assert.equal(await change.count(), 1);
    assert.equal(await page.getByRole('group', { name: 'Confirm the rule' }).count(), 0);
    await page.keyboard.press('1');
    await page.getByRole('log').getByText('Left out: part 2 of poem.txt').waitFor();
  },

  async plan({ page }) {
    const plan = page.getByRole('region', { name: /Approve this plan of 2 steps\?/ });
    await plan.getByRole('button', { name: 'Edit step 1' }).click();
    const title = plan.getByLabel('Title of step 1');
    await page.keyboard.press('End');
    await page.keyboard.type(' 1 2');
    assert.equal(await title.inputValue(), 'Write a 1 2');
    await plan.getByRole('button', { name: 'Done' }).click();
    await armed(plan);
    await page.keyboard.press('Control+.');
    await page.keyboard.press('1');
    await frames(page);
    assert.equal(await plan.getByRole('button', { name: 'Approve' }).isDisabled(), true);
    await plan.getByRole('button', { name: 'Modify' }).click();
    await plan.getByText('1. Write a 1 2').waitFor();
    await plan.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('log').getByText('✓ Done').waitFor();
  },

  async letters({ page, question, composer }) {
    const here = page.url();
    await question.getByRole('button', { name: 'Edit before running' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' now 1');
    assert.equal(await question.getByLabel('The command to run').inputValue(), 'echo made > made.txt now 1');
    await page.reload();
    await question.waitFor();
    await page.keyboard.type('n g k / ? thanks, now go');
    assert.equal(page.url(), here);
    assert.equal(await composer.inputValue(), 'n g k / ? thanks, now go', 'what is typed is not lost');
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await question.count(), 1);
  },

  async numbers({ page, question }) {
    const keys = () => question.locator('footer button').evaluateAll((all) => all.map((one) => `${one.querySelector('kbd')?.textContent} ${one.textContent.replace(/\s+/g, ' ').trim().split(' ')[1]}`));
    await becomes(keys, ['1 Allow', '3 Wait', '4 Never'], 'an answer keeps its number when another one is missing');
    await page.keyboard.press('Control+.');
    for (const key of ['2', 'a']) await page.keyboard.press(key);
    await frames(page);
    assert.equal(await question.locator('textarea, [role=group][aria-label^=Confirm]').count(), 0);
    await page.keyboard.press('n');
    await question.getByLabel('What should be done differently?').waitFor();
  },

  async rule({ page, question, log }) {
    const strip = question.getByRole('group', { name: 'Confirm the rule' });
    const seen = async () => {
      await strip.getByText(/^allow run_command: echo made > made\.txt/).waitFor();
      const view = page.viewportSize();
      await becomes(() => inSight(strip.locator('code'), view), true, 'the rule is in sight');
      await becomes(() => inSight(strip.getByRole('button', { name: 'Add this rule' }), view), true, 'its button is in sight');
    };
    // By keys: the first one shows the rule, and what is typed on top of it adds nothing.
    await page.keyboard.press('Control+.');
    await page.keyboard.press('2');
    await seen();
    await page.waitForTimeout(700);
    await page.keyboard.type('2 2ya');
    await page.keyboard.press('Enter');
    await frames(page);
    assert.equal(await question.count(), 1, 'a rule is not added by what goes on being typed');
    await page.keyboard.press('Escape');
    await strip.waitFor({ state: 'detached' });
    // By mouse: a double click is one step.
    await question.getByRole('button', { name: 'Always allow' }).dblclick();
    await seen();
    assert.equal(await question.count(), 1);
    await page.setViewportSize({ width: 360, height: 640 });
    await seen();
    await strip.getByRole('button', { name: 'Back' }).click();
    await question.getByRole('button', { name: 'Never allow' }).click();
    await strip.getByText(/^deny run_command: echo made/).waitFor();
    await strip.getByRole('button', { name: 'Back' }).click();
    await question.getByRole('button', { name: 'Always allow' }).click();
    await strip.getByRole('button', { name: 'Add this rule' }).click();
    await log.getByText('✓ Done').waitFor();
  },

  async spelled({ page, question, log }) {
    const told = 'echo a ⟨U+202E⟩gnp.exe⟨U+2066⟩ ⟨U+200B⟩x c⟨U+0430⟩t; rm -f x';
    assert.equal(await question.locator('pre.command').innerText(), told);
    assert.equal(await question.locator('pre.command mark').count(), 4, 'what is spelled out is marked');
    assert.doesNotMatch(await page.locator('body').innerText(), HIDDEN);
    await question.getByRole('button', { name: 'Allow this time' }).click();
    await page.getByRole('region', { name: /printf/ }).getByRole('button', { name: 'Allow this time' }).click();
    await log.getByText('✓ Done').waitFor();
    await log.locator('.tool', { hasText: told }).first().waitFor();
    for (const row of await log.locator('.tool .name').all()) await row.click();
    await log.getByRole('button', { name: 'Show all of it' }).click();
    await log.getByText(/⟨U\+001B⟩\[31m/).first().waitFor();
    assert.doesNotMatch(await page.locator('body').innerText(), HIDDEN);
    await page.goto(`${page.url()}/trace`);
    await page.getByRole('region', { name: 'Trace' }).waitFor();
    assert.doesNotMatch(await page.locator('body').innerText(), HIDDEN);
  },

  async long({ page, question }) {
    const allow = question.getByRole('button', { name: 'Allow this time' });
    const command = question.locator('pre.command');
    for (const size of [{ width: 1280, height: 800 }, { width: 360, height: 640 }]) {
      await page.setViewportSize(size);
      await page.reload();
      await armed(question);
      await question.getByText('scroll to the end to allow it').waitFor();
      assert.equal(await allow.isDisabled(), true);
      await page.keyboard.press('Control+.');
      for (const key of ['1', 'y', '2', 'a']) await page.keyboard.press(key);
      await frames(page);
      assert.equal(await question.count(), 1);
      assert.equal(await question.getByRole('group', { name: 'Confirm the rule' }).count(), 0);
      assert.match(await command.innerText(), /⟨39 blank lines⟩\nrm -rf hidden⟨200 spaces⟩; echo the end$/, 'all of it is there, and what is blank is counted');
      const facts = async () => {
        for (const text of [/Reason:/, /Runs in/, /only allowed hosts/]) {
          await becomes(() => inSight(question.getByText(text).first(), size), true, `${text} is in sight`);
        }
      };
      await facts();
      await page.keyboard.press('End');
      await becomes(() => allow.isDisabled(), false);
      await facts();
    }
    await page.keyboard.press('1');
    await question.waitFor({ state: 'detached' });
  },

  async next({ page, log, composer }) {
    await log.getByText('✓ Done').waitFor();
    const steps = log.getByLabel('Next steps').getByRole('button');
    const shown = await steps.allInnerTexts();
    assert.match(shown[0], /^Run the tests\s*→ !touch \.\.\/PWNED # ⟨25 line ends⟩ Run the tests$/, 'it shows what it sends');
    assert.equal(shown[1], 'Add a test', 'and nothing twice');
    assert.equal(await log.locator('[aria-label="Next steps"] :is(img, base, b, style, script)').count(), 0, 'its HTML is text');
    await steps.nth(2).click();
    assert.equal(await composer.inputValue(), '/review a.rs');
    await page.getByText('Sent as a message').waitFor();
    await page.keyboard.press('Enter');
    await log.locator('article').nth(1).getByText('✓ Done').waitFor();
    // A paste is a message as well; what is typed names a workflow.
    await page.evaluate(() => navigator.clipboard.writeText('/review b.rs'));
    await composer.click();
    await page.keyboard.press('Control+v');
    assert.equal(await composer.inputValue(), '/review b.rs');
    await page.keyboard.press('Enter');
    await log.locator('article').nth(2).getByText('✓ Done').waitFor();
    await composer.click();
    await page.keyboard.type('/review c.rs');
    await page.keyboard.press('Enter');
    await log.locator('article').nth(3).getByText('✓ Done').waitFor();
    // Whatever else a page could be led to do with HTML, the browser refuses.
    const refused = await page.evaluate(() => {
      try {
        document.createElement('div').innerHTML = '<b>x</b>';
        return '';
      } catch (error) {
        return error.name;
      }
    });
    assert.equal(refused, 'TypeError');
  },
};

const name = process.argv[3];
await browse(
  async ({ page, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const log = page.getByRole('log');
    const composer = page.getByLabel('Your message', { exact: true });
    const question = page.getByRole('region', { name: /Run this command\?/ });
    if (name === 'plan') await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await begin(page, 'Please');
    if (name === 'focus') {
      await composer.click();
      console.log('more');
    }
    if (!['part', 'plan', 'next'].includes(name)) {
      await question.waitFor();
      if (name !== 'focus') await armed(question);
    }
    await attacks[name]({ page, question, composer, log });
  },
  { quiet: name === 'next' ? [/TrustedHTML/] : [] },
);
