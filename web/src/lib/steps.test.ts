import { expect, test } from 'vitest';
import { differs, label, withoutSteps } from './steps';

const steps = ['Show me one', 'Draw it'].map((text) => ({ html: text, inputText: text }));

test('a list at the end that the buttons repeat is left out', () => {
  for (const heading of ['Next steps:', '## Next steps', '**Suggested next steps:**', 'Possible next steps']) {
    expect(withoutSteps(`Done.\n\n${heading}\n\n- Show me one\n2. **Draw** it\n`, steps), heading).toBe('Done.');
  }
});

test('whatever is not on a button stays', () => {
  for (const text of [
    'Done.',
    'Done.\n\nNext steps:\n',
    'Done.\n\nNext steps:\n- Show me one\n- Something else\n',
    'Done.\n\nNext steps:\n- Show me one\n\nAsk me anything.',
    'Done.\n\n```\nNext steps:\n- Show me one\n```\n',
    'Next steps:\n- Show me one\n',
    '- Show me one\n- Draw it',
  ]) expect(withoutSteps(text, steps), text).toBe(text);
  const words = 'Done.\n\nNext steps:\n- Show me one';
  expect(withoutSteps(words, []), 'where there are no buttons').toBe(words);
});

test('a step is shown as text, and with what it sends where that differs', () => {
  const step = (html: string, inputText = '') => ({ html, inputText });
  for (const [html, text] of [['Add a test', 'Add a test'], ['<b>Add</b> a &lt;test&gt; &amp; run', 'Add a <test> & run'], ['a < b & c', 'a < b & c'], ['&amp;lt;', '&lt;'], ['<i', '<i'], ['é<br/>&nbsp;ü', 'é ü']] as const) {
    expect(label(step(html))).toBe(text);
  }
  expect(differs(step('<b>Run</b> the tests', 'Run the\ntests'))).toBe(false);
  expect(differs(step('Run the tests', '!rm -rf .\n\n\nRun the tests'))).toBe(true);
});
