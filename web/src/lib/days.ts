// What was used by day, with the days on which nothing was.

import { localDay } from './format';
import type { Given } from './wire';

export interface Day {
  day: string;
  calls: number;
  tokens: number;
  costUsd: number;
}

/** So many days are shown; older ones are in the totals. */
const SHOWN = 30;

/** The days up to today, oldest first. `now` is a time; days are those of the place where the person is. */
export function days(used: Given<'UsageTotals'>['days'], now: number): Day[] {
  const known = new Map(used.map((one) => [one.day, one]));
  return Array.from({ length: SHOWN }, (_, at) => {
    const date = new Date(now);
    date.setDate(date.getDate() - (SHOWN - 1 - at));
    const day = localDay(date.getTime());
    const found = known.get(day);
    const tokens = (found?.usage.inputTokens ?? 0) + (found?.usage.outputTokens ?? 0);
    return { day, calls: found?.calls ?? 0, tokens, costUsd: found?.usage.costUsd ?? 0 };
  });
}
