// A change is proposed and only a part of it is wanted: a file is left out, and a place in another one.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  await begin(page, 'Change two files');
  const asked = page.getByRole('region', { name: 'Change poem.txt?' });
  const lines = asked.getByRole('region', { name: 'Changes of poem.txt' });
  await lines.getByRole('cell', { name: 'added: LINE 40' }).waitFor();
  const file = asked.getByRole('checkbox', { name: /^poem\.txt/ });
  const [one, two, three] = [1, 2, 3].map((part) => asked.getByRole('checkbox', { name: `Hunk ${part} of poem.txt` }));
  for (const box of [file, one, two, three]) assert.equal(await box.isChecked(), true);
  await accessible(page, 'a change that is chosen from');

  // By keyboard alone.
  await two.focus();
  await page.keyboard.press('Space');
  await becomes(() => file.evaluate((box) => box.indeterminate), true);
  await asked.getByRole('button', { name: 'Apply selected (2 of 3)' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  const apply = asked.getByRole('button', { name: 'Apply selected (1 of 3)' });
  await apply.waitFor();
  await becomes(() => asked.getByRole('button', { name: /always/i }).isDisabled(), true, 'a rule is about whole changes');

  // A reload forgets none of it, and nothing at all is not an answer.
  await page.reload();
  await apply.waitFor();
  await one.uncheck();
  assert.equal(await asked.getByRole('button', { name: 'Apply selected (0 of 3)' }).isDisabled(), true);
  await file.check();
  await asked.getByRole('button', { name: /Apply selected/ }).waitFor({ state: 'detached' });
  await two.uncheck();
  await asked.getByRole('button', { name: 'Apply selected (2 of 3)' }).waitFor();
  await three.uncheck();
  await apply.click();
  await asked.waitFor({ state: 'detached' });
  await log.getByText('You chose a part of it. Left out: parts 2, 3 of poem.txt').waitFor();

  // What is new is one thing, and has no marks.
  const fresh = page.getByRole('region', { name: /new\.txt\?/ });
  await fresh.getByRole('cell', { name: 'added: new' }).waitFor();
  assert.equal(await fresh.getByRole('checkbox').count(), 0);
  await fresh.getByRole('button').first().click();
  await log.getByText('✓ Done').waitFor();
});
