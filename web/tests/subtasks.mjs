// A request is broken down, its workers change the same line, and the person settles it in each way.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessible, becomes, begin, browse, say } from './browse.mjs';

const changed = process.argv[3];

await browse(async ({ page }) => {
  await begin(page, 'Change the greeting in a.py, in parallel');
  const plan = page.getByRole('region', { name: /Execution Plan/ });
  await plan.getByText('C) Fast & Loose').waitFor();
  await accessible(page, 'a plan of sub-tasks');
  // What was edited is not passed over.
  await plan.getByRole('button', { name: 'Edit Plan' }).click();
  const box = plan.getByLabel(/^The plan:/);
  await becomes(async () => (await box.inputValue()).split('\n')[0], '1. loud');
  const before = await box.inputValue();
  await box.fill(`${before}3. more\n`);
  await becomes(() => plan.getByRole('button', { name: 'Start C' }).isDisabled(), true);
  await box.fill(before);
  await plan.getByRole('button', { name: 'Start C' }).click();

  const conflict = page.getByRole('region', { name: /^a\.py has conflicting changes/ });
  await conflict.waitFor();
  await becomes(() => conflict.locator('figcaption').allInnerTexts(), ['Before', 'A, sub-task 1', 'B, sub-task 2']);
  await becomes(async () => (await conflict.locator('pre').allInnerTexts()).map((text) => text.split('\n')[0]), ["print('hello')", "print('HELLO')", "print('hello, sir')"]);
  await accessible(page, 'a conflict');
  const edit = conflict.getByRole('button', { name: /^Edit/ });
  await edit.click();
  const file = conflict.getByLabel(/^The whole text of the file/);
  await becomes(() => file.inputValue(), "print('hello, sir')\nprint('bye')\n");
  await file.fill("print('hi')\nprint('bye')\n");
  await file.press('Control+Enter');

  await page.getByRole('log').getByText('✓ Done').waitFor();
  const board = page.getByRole('region', { name: 'Sub-tasks' });
  await board.getByText('2 of 2 sub-tasks completed').waitFor();
  assert.deepEqual(await board.locator('.percent').allInnerTexts(), ['100%', '100%']);
  await accessible(page, 'the board of sub-tasks');
  await board.getByRole('link', { name: 'loud' }).click();
  await page.getByRole('link', { name: /Sub-task 1 of this request/ }).click();
  await page.getByRole('region', { name: 'Sub-tasks' }).waitFor();

  // Each of the other ways, in requests of their own.
  const ways = [
    ['second', /^Keep 1\. loud/, "print('HELLO second')"],
    ['third', /^Keep 2\. polite/, "print('hello third, sir')"],
    ['fourth', /^Let the model merge them/, "print('HELLO fourth, sir')"],
  ];
  for (const [name, button, line] of ways) {
    await say(page, `Change the ${name} greeting in a.py, in parallel`);
    await page.getByRole('region', { name: /Execution Plan/ }).getByRole('button', { name: 'Start C' }).click();
    await conflict.getByRole('button', { name: button }).click();
    // What a model has merged nobody has seen yet.
    if (name === 'fourth') await page.getByRole('button', { name: /^Allow this time/ }).click();
    await becomes(() => readFileSync(changed, 'utf8').split('\n')[0], line);
    await becomes(() => page.getByRole('log').getByText('✓ Done').count(), ways.findIndex(([of]) => of === name) + 2);
  }
});
