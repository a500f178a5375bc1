// Sessions in the groups that a person looks for: what needs an answer first, then by day.

import type { SessionRow } from './wire';

export interface SessionGroup {
  name: string;
  rows: SessionRow[];
}

const DAY = 86_400_000;

/** The start of the day of a moment, where the person is. */
function dayOf(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}

function dayName(row: SessionRow, now: number): string {
  // Rounded, because a day on which the clocks change is not 24 hours long.
  const days = Math.round((dayOf(now) - dayOf(Date.parse(row.updated))) / DAY);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  if (days < 7) return 'Last 7 days';
  return days < 30 ? 'Last 30 days' : 'Earlier';
}

/** Keeps the order of the rows within each group. */
export function grouped(rows: SessionRow[], states: Record<string, string>, now: number): SessionGroup[] {
  const groups = new Map<string, SessionRow[]>([['Waiting for you', []]]);
  for (const row of rows) {
    const name = states[row.id] === 'needs_user' ? 'Waiting for you' : dayName(row, now);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].filter(([, rows]) => rows.length > 0).map(([name, rows]) => ({ name, rows }));
}
