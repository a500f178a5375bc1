// A model that answers in one JSON text: its parts, the bar that keeps the summary at hand, commands in series,
// and what is left of answers that are damaged or cut off.

import assert from 'node:assert/strict';
import { accessible, becomes, begin, browse, eventually, frames, say } from './browse.mjs';

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  const composer = page.getByLabel('Your message');
  const bar = page.getByRole('complementary', { name: 'The last answer' });
  /** Scrolls, and lets the page see it. */
  const scroll = async (to) => {
    await log.evaluate((node, to) => {
      if (to === 'end') node.scrollTo(0, node.scrollHeight);
      else node.querySelector('article:last-of-type [data-summary]').scrollIntoView();
    }, to);
    await frames(page);
  };
  const [top, end] = [() => scroll('top'), () => scroll('end')];

  // Sections, next steps and the bar.
  await begin(page, 'Tell me at length');
  await log.getByText('✓ Done').waitFor();
  await log.getByRole('heading', { name: 'The first part' }).waitFor();
  assert.equal(await log.getByRole('heading', { level: 3 }).count(), 2);
  await log.locator('.hljs-keyword', { hasText: 'fn' }).waitFor();
  await top();
  await bar.waitFor({ state: 'detached' });
  await end();
  await bar.waitFor();
  assert.match(await bar.innerText(), /✓.*…/s, 'a long summary is cut short');
  assert.equal(await bar.getByRole('button').count(), 5, 'three next steps, details and dismiss');
  assert.equal(await log.getByLabel('Next steps').getByRole('button').count(), 5, 'the answer has all of them');
  const [over, box] = await Promise.all([bar.boundingBox(), composer.boundingBox()]);
  assert.ok(over.y + over.height <= box.y, 'it stands between the messages and the box');
  await accessible(page, 'the bar');
  await bar.getByRole('button', { name: 'See details ↑' }).click();
  await bar.waitFor({ state: 'detached' });
  assert.equal(await log.locator('[data-summary]').first().isVisible(), true);
  // The page sees that the summary is in sight again only where it is for a frame.
  await frames(page);
  await end();
  await bar.getByRole('button', { name: 'Step one' }).click();
  await bar.waitFor({ state: 'detached' });
  await becomes(() => composer.inputValue(), 'do step one');
  await composer.fill('');
  await top();
  await end();
  await bar.getByRole('button', { name: 'Dismiss' }).click();
  await top();
  await end();
  assert.equal(await bar.count(), 0, 'it does not come back for this answer');

  // Several commands: one button for all of them, one panel that keeps the tally.
  await say(page, 'Run them');
  assert.equal(await page.locator('article').count(), 2, 'a next step that is clicked is written, and not sent');
  const question = page.getByRole('region', { name: /commands?/ });
  await question.waitFor();
  await log.getByRole('button', { name: 'Run 3 cmds' }).click();
  const panel = page.getByRole('complementary', { name: 'CLI Execution' });
  await panel.getByText('3/3').waitFor();
  const bars = panel.getByRole('progressbar');
  await becomes(() => bars.getAttribute('aria-valuenow'), '100');
  await panel.getByRole('button', { name: 'Show commands' }).click();
  await eventually(() => panel.innerText(), (words) => assert.match(words, /CLI Execution\s*✓ 2\s*✗ 1\s*3\/3[^]*(one\.txt|echo one)/));
  await accessible(page, 'the panel of commands');
  await log.locator('article:last-of-type').getByText('✓ Done').waitFor();
  await panel.getByRole('button', { name: 'Close' }).click();
  await panel.waitFor({ state: 'detached' });

  // Damaged: what can be read is kept, and said so.
  await say(page, 'Stumble');
  const stumbled = log.locator('article:last-of-type');
  await stumbled.getByText('⚠ AI response had errors - Recovery succeeded!').waitFor();
  await stumbled.getByText('The content below may be incomplete.').waitFor();
  await stumbled.getByText(/Recovered: 1 todo\(s\)/).waitFor();
  const recovery = page.getByRole('region', { name: /AI response had errors/ });
  await recovery.waitFor();
  await accessible(page, 'a damaged answer');
  await recovery.getByRole('button', { name: '🔄 Retry' }).waitFor();
  await recovery.getByRole('button', { name: '✓ Continue' }).click();
  await recovery.waitFor({ state: 'detached' });

  // Cut off: nothing of it is applied.
  await say(page, 'Break off');
  const broken = log.locator('article:last-of-type');
  await broken.getByText('🚫 BLOCKED: 2 file change(s) from truncated response.').waitFor();
  await broken.getByText('The response was cut off mid-stream. NO changes have been applied.').waitFor();
  await broken.getByText('Preview only: a.txt').waitFor();
  await accessible(page, 'an answer that was cut off');

  // Only another try brings the changes; what the model writes as plain words is a button all the same, and noted.
  await page.getByRole('region', { name: 'Response was truncated!' }).getByRole('button', { name: '🔄 Retry' }).click();
  await broken.getByText('✓ Done').waitFor();
  await broken.getByText('Whole now.').first().waitFor();
  await broken.getByText('1 applied').waitFor();
  await broken.getByText(/problems? noted/).waitFor();
  await broken.getByLabel('Next steps').getByRole('button', { name: 'run tests' }).click();
  await becomes(() => composer.inputValue(), 'run tests');
  await composer.fill('');

  // Of this one nothing can be read: it can only be tried again.
  await say(page, 'Babble');
  const lost = page.getByRole('region', { name: 'AI response had errors' });
  await lost.waitFor();
  await log.getByText('The AI response could not be read. Nothing was applied.').waitFor();
  assert.deepEqual((await lost.getByRole('button').allInnerTexts()).map((words) => words.replace(/\s+/g, ' ').trim()), ['1 🔄 Retry']);
  await lost.getByRole('button', { name: '🔄 Retry' }).click();
  await log.locator('article:last-of-type').getByText('Better.').first().waitFor();
});
