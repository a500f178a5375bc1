// Pictures of every view, on phones and on a desk, light and dark; or only those of the guide. Started by
// `scripts/screenshots`.

import { begin, browse, press } from './browse.mjs';

const folder = process.argv[3];
/** The pictures of the guide: one for each state, a phone for what is answered on the way. */
const isGuide = process.argv[4] === 'guide';
const PHONE = ['command'];
const KEPT = ['home', 'question', 'plan', 'command', 'work', 'changes', 'files', 'trace', 'tasks', 'settings', 'extensions', 'usage'];
const sizes = [[1440, 900, 'wide'], [1280, 800, 'desk'], [390, 844, 'phone'], [360, 740, 'small']];

await browse(async ({ page, root }) => {
  /** The page as it is, in every size and both looks. */
  async function shoot(name) {
    if (isGuide) {
      if (!KEPT.includes(name)) return;
      await page.setViewportSize(PHONE.includes(name) ? { width: 390, height: 844 } : { width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${folder}/web-${name}.png` });
      await page.setViewportSize({ width: 1280, height: 800 });
      return;
    }
    for (const [width, height, size] of sizes) {
      for (const colorScheme of ['light', 'dark']) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.waitForTimeout(200);
        await page.screenshot({ path: `${folder}/${name}-${size}-${colorScheme}.png` });
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  const log = page.getByRole('log');
  const asked = (name) => page.getByRole('region', { name });
  await page.getByLabel('Your message').waitFor();
  await shoot('home');

  // The story of the demonstration: asked, planned, done, with a command that fails and is put right.
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await begin(page, 'Make greet.sh work without a name', { trusts: true });
  const question = asked(/What should greet\.sh print/);
  await question.waitFor();
  await shoot('question');
  await question.getByRole('button', { name: /stranger/ }).first().click();
  const submit = question.getByRole('button', { name: /Submit/ });
  if (await submit.count()) await submit.click();
  const plan = asked(/Approve this plan/);
  await plan.waitFor();
  await shoot('plan');
  await plan.getByRole('button', { name: 'Approve' }).click();
  await log.getByRole('button', { name: /^Run \d+ cmds$/ }).click();
  const command = asked(/Run this command\?/);
  await command.waitFor();
  await shoot('command');
  await press(page, command, '1');
  await asked(/Run this command\?.*test\.sh/).waitFor();
  await press(page, asked(/Run this command\?.*test\.sh/), '1');
  await log.getByText('✓ Done').waitFor();
  await shoot('work');
  const session = new URL(page.url()).hash;
  await page.goto(`${root}/${session}/changes`);
  await page.getByRole('button', { name: 'Show', exact: true }).first().click();
  await page.getByRole('region', { name: /Changes of/ }).first().waitFor();
  await shoot('changes');
  await page.goto(`${root}/${session}/trace`);
  await page.getByRole('region', { name: 'Trace' }).locator('summary').first().waitFor();
  await shoot('trace');

  await page.goto(`${root}/${session}/files`);
  await page.getByRole('treeitem', { name: 'README.md', exact: true }).click();
  await page.getByRole('region', { name: 'Files' }).getByText('Says hello.').waitFor();
  await shoot('files');

  // Tasks, and what the assistant would do with them.
  await page.goto(`${root}/#/tasks`);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  for (const [title, when] of [['Write the release notes', 'today 9am'], ['Fix the failing test', 'tomorrow']]) {
    await page.getByLabel('A new task').fill(title);
    await page.getByLabel('When', { exact: true }).fill(when);
    await page.keyboard.press('Enter');
    await page.getByLabel(`Done: ${title}`).waitFor();
  }
  await page.getByLabel('Your message to the assistant').fill('The release notes are done, and the failing test is urgent');
  await page.keyboard.press('Enter');
  await page.getByText('3 proposed').waitFor();
  await page.getByRole('button', { name: 'Show before and after' }).click();
  await shoot('tasks');

  const region = (name) => page.getByRole('region', { name, exact: true });
  for (const [view, seen] of [['usage', region('Usage').getByRole('heading')], ['audit', region('Audit').locator('summary')], ['extensions', region('Extensions').getByLabel('Folder')], ['settings', page.getByRole('switch')]]) {
    await page.goto(`${root}/#/${view}`);
    await seen.first().waitFor();
    await shoot(view);
  }
  await page.keyboard.press('Control+/');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await shoot('keys');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Commands and sessions' }).waitFor();
  await shoot('palette');
});
