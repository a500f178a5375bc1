import { expect, test } from 'vitest';
import { autonomy, bare, inFile } from './settings';

const settings = (values: Record<string, string>) => Object.entries(values).map(([setting, value]) => ({ setting, value, origin: 'default', variable: '' }));

test('the autonomy is that of edits and commands, and one switch is above both', () => {
  expect(autonomy(settings({ 'apply.auto': 'true', 'apply.files': '"auto"', 'apply.commands': '"ask"' }))).toBe('Asks before commands that can write');
  expect(autonomy(settings({ 'apply.auto': 'true', 'apply.files': '"ask"', 'apply.commands': '"auto"' }))).toBe('Asks before edits');
  expect(autonomy(settings({ 'apply.auto': 'true', 'apply.files': '"auto"', 'apply.commands': '"auto"' }))).toBe('Rarely asks');
  expect(autonomy(settings({ 'apply.auto': 'false', 'apply.files': '"auto"', 'apply.commands': '"auto"' }))).toBe('Asks before all edits and commands');
});

test('a value loses only the quotes around it', () => {
  expect(bare('"ask"')).toBe('ask');
  expect(bare('25')).toBe('25');
  expect(bare('["a", "b"]')).toBe('["a", "b"]');
});

test('a setting is written below its section', () => {
  expect(inFile({ setting: 'copilot.pace', value: '"single"' })).toBe('[copilot]\npace = "single"');
  expect(inFile({ setting: 'providers.mine.base_url', value: '"x"' })).toBe('[providers.mine]\nbase_url = "x"');
  expect(inFile({ setting: 'model', value: '""' })).toBe('model = ""');
});
