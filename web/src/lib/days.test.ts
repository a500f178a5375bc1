import { expect, test } from 'vitest';
import { days } from './days';

test('days on which nothing was used are there too, and today is the last', () => {
  const now = new Date(2026, 10, 15, 23, 30).getTime();
  const usage = { inputTokens: 90, cachedTokens: 0, outputTokens: 10, costUsd: 0.5 };
  const shown = days([{ day: '2026-11-13', calls: 2, usage }], now);
  expect(shown).toHaveLength(30);
  expect(shown.at(-1)).toEqual({ day: '2026-11-15', calls: 0, tokens: 0, costUsd: 0 });
  expect(shown.at(-3)).toEqual({ day: '2026-11-13', calls: 2, tokens: 100, costUsd: 0.5 });
  expect(shown[0]?.day).toBe('2026-10-17');
});
