import { expect, test } from 'vitest';
import { ruleWords } from './rules';

test('a rule says what it is about and where it holds', () => {
  expect(ruleWords({ tool: 'run_command', folder: '/home/me/kite' })).toBe('Commands in the sandbox · in me/kite');
  expect(ruleWords({ tool: 'network' })).toBe('Hosts that commands can reach · everywhere');
  expect(ruleWords({ tool: 'a_new_tool' })).toBe('a_new_tool · everywhere');
});
