import { expect, test } from 'vitest';
import { autonomy, bare } from './settings';

const settings = (values: Record<string, string>) => Object.entries(values).map(([setting, value]) => ({ setting, value, origin: 'default', variable: '' }));

test('the autonomy is the level of the settings', () => {
  expect(autonomy(settings({ autonomy: '"careful"' }))).toBe('careful');
  expect(autonomy(settings({}))).toBe('standard');
});

test('a value loses only the quotes around it', () => {
  expect(bare('"ask"')).toBe('ask');
  expect(bare('25')).toBe('25');
  expect(bare('["a", "b"]')).toBe('["a", "b"]');
});
