import { expect, test } from 'vitest';
import type { Setting } from './settings';
import { editable, inFile, isPlainList, sections, sourceOf, titleOf, written } from './settingForms';

test('a setting is written below its section', () => {
  expect(inFile({ setting: 'copilot.pace', value: '"single"' })).toBe('[copilot]\npace = "single"');
  expect(inFile({ setting: 'providers.mine.base_url', value: '"x"' })).toBe('[providers.mine]\nbase_url = "x"');
  expect(inFile({ setting: 'model', value: '""' })).toBe('model = ""');
});

test('a setting has a title in words, with its unit', () => {
  expect(titleOf('commands.timeout_s')).toBe('Timeout (s)');
  expect(titleOf('limits.budget_usd')).toBe('Budget per session (USD)');
  expect(titleOf('subtasks.auto_usd')).toBe('Auto (USD)');
  expect(titleOf('copilot.approval_mode')).toBe('Approval mode');
  expect(titleOf('model')).toBe('Model');
});

test('lists are edited line by line, and other values as they are', () => {
  const deny = { kind: 'list', value: '["git push", "a, b"]' } as const;
  expect(editable(deny)).toBe('git push\na, b');
  expect(written(deny, 'git push\n\n  npm publish \n')).toBe('["git push","npm publish"]');
  expect(written(deny, '')).toBe('[]');
  const rules = { kind: 'list', value: '[{ rule = "cargo test", examples = ["x"] }]' } as const;
  expect(isPlainList(rules)).toBe(false);
  expect(written(rules, editable(rules))).toBe(rules.value);
  expect(editable({ kind: 'text', value: '"say \\"hi\\""' })).toBe('say "hi"');
  expect(editable({ kind: 'integer', value: '25' })).toBe('25');
  expect(written({ kind: 'text', value: '""' }, ' a/b ')).toBe('a/b');
});

test('a source is told in words', () => {
  expect(sourceOf({ origin: 'default' })).toBe('Default');
  expect(sourceOf({ origin: '/home/me/config.toml, line 3', inFile: true })).toBe('Settings file, line 3');
  expect(sourceOf({ origin: 'environment TRIMTAB_MODEL' })).toBe('Environment TRIMTAB_MODEL');
});

test('settings are grouped by section', () => {
  const names = ['model', 'apply.files', 'effort', 'apply.auto', 'tui.vim'];
  const all = names.map((setting) => ({ setting }) as Setting);
  expect(sections(all).map(([name, some]) => [name, some.map((one) => one.setting)])).toEqual([
    ['General', ['model', 'effort']],
    ['Approvals', ['apply.files', 'apply.auto']],
    ['Terminal UI', ['tui.vim']],
  ]);
});
