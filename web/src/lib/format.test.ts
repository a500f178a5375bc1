import { expect, test } from 'vitest';

import { choices, count, duration, list, money, plural, runningTime } from './format';
import rows from './format.json';

test('browser and terminal format alike', () => {
  for (const [given, shown] of rows.number as [number, string][]) expect(count(given)).toBe(shown);
  for (const [given, shown] of rows.plural as [[number, string], string][]) expect(plural(...given)).toBe(shown);
  for (const [given, shown] of rows.duration as [number, string][]) expect(duration(given)).toBe(shown);
  for (const [given, shown] of rows.runningTime as [number, string][]) expect(runningTime(given)).toBe(shown);
  for (const [given, shown] of rows.money as [number, string][]) expect(money(given)).toBe(shown);
  for (const [given, shown] of rows.list as [string[], string][]) expect(list(given)).toBe(shown);
  for (const [given, shown] of rows.choices as [string[], string][]) expect(choices(given)).toBe(shown);
});
