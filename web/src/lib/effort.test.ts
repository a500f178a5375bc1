import { expect, test } from 'vitest';
import { keepEffort, keptEffort, typedEffort, withEffort } from './effort';

test('an effort is kept for the next messages, and auto says nothing', () => {
  expect(withEffort()).toEqual({});
  keepEffort('high');
  expect([keptEffort(), withEffort()]).toEqual(['high', { effort: 'high' }]);
  keepEffort('auto');
  expect([keptEffort(), withEffort()]).toEqual(['auto', {}]);
});

test('a typed command names a level, none, or is no command', () => {
  expect(typedEffort('/effort max')).toBe('max');
  expect(typedEffort(' /effort ')).toBe('auto');
  expect(typedEffort('/effort huge')).toBeUndefined();
  expect(typedEffort('/efforts max')).toBeNull();
  expect(typedEffort('set /effort max')).toBeNull();
});
