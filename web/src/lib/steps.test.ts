import { expect, test } from 'vitest';
import { withoutSteps } from './steps';

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
