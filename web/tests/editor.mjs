// A session that is open in a terminal and in an editor as well: each question is seen here, and answered where it is
// meant to be.
//
// node editor.mjs LINK SESSION

import { browse } from './browse.mjs';

await browse(async ({ page, root }) => {
  const log = page.getByRole('log');
  const question = page.getByRole('region', { name: /Run this command\?/ });
  await page.goto(`${root}/#/s/${process.argv[3]}`);
  await log.getByText('Hello from the model.').waitFor();
  console.log('open');

  // Asked by the editor, answered in the terminal.
  await question.waitFor();
  await log.getByText('Run the first one').first().waitFor();
  console.log('asked');
  await question.waitFor({ state: 'detached' });
  await log.getByText('The first one ran.').waitFor();
  console.log('answered');

  // Asked by the terminal, answered here.
  await question.waitFor();
  await log.getByText('Run the second one').first().waitFor();
  console.log('asked');
  // The others have to see it first.
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await question.getByRole('button', { name: 'Allow this time' }).click();
  await log.getByText('The second one ran.').waitFor();
  console.log('answered');

  // Asked here, answered in the editor.
  await page.getByLabel('Your message').fill('Run the third one');
  await page.getByRole('button', { name: 'Send' }).click();
  await question.waitFor();
  console.log('asked');
  await question.waitFor({ state: 'detached' });
  await log.getByText('The third one ran.').waitFor();
  console.log('answered');
  process.stdin.destroy();
});
