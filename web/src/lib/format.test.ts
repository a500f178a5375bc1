import { expect, test } from 'vitest';

import { age, choices, count, day, duration, list, money, moment, plural, runningTime } from './format';
import rows from './format.json';

test('browser and terminal format alike', () => {
  for (const [given, shown] of rows.number as [number, string][]) expect(count(given)).toBe(shown);
  for (const [given, shown] of rows.plural as [[number, string], string][]) expect(plural(...given)).toBe(shown);
  for (const [given, shown] of rows.duration as [number, string][]) expect(duration(given)).toBe(shown);
  for (const [given, shown] of rows.runningTime as [number, string][]) expect(runningTime(given)).toBe(shown);
  for (const [given, shown] of rows.money as [number, string][]) expect(money(given)).toBe(shown);
  for (const [given, shown] of rows.age as [number, string][]) expect(age(new Date(0).toISOString(), given * 1000)).toBe(shown);
  for (const [given, shown] of rows.day as [[string, string], string][]) expect(day(...given)).toBe(shown);
  for (const [given, shown] of rows.list as [string[], string][]) expect(list(given)).toBe(shown);
  for (const [given, shown] of rows.choices as [string[], string][]) expect(choices(given)).toBe(shown);
});

test('a moment is shown where the person is', () => {
  const at = new Date(2026, 10, 15, 9, 3).toISOString();
  expect(moment(at, new Date(2026, 10, 18).getTime())).toBe('Sun, Nov 15, 09:03');
  expect(moment(at, new Date(2027, 0, 1).getTime())).toBe('Sun, Nov 15, 2026, 09:03');
});
