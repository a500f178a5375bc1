import { expect, test } from 'vitest';
import { spokenAs } from './dedupe';

test('what is no part of the answer is not shown, and whatever is stays', () => {
  expect(spokenAs('✅ GOAL ACHIEVED\nAll fine.', { summary: 'All fine.' })).toBe('All fine.');
  expect(spokenAs('All fine.\n', { summary: 'All fine.' })).toBe('All fine.');
  for (const summary of ['', '  ', 'Something else.']) expect(spokenAs('All fine.', { summary }), summary).toBe('All fine.');
  expect(spokenAs('All fine.', undefined), 'while it is being said').toBe('All fine.');
});
