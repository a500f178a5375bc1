import { expect, test } from 'vitest';
import { grouped } from './groups';
import type { SessionRow } from './wire';

const now = new Date(2026, 10, 17, 12).getTime();
const row = (id: string, hoursAgo: number): SessionRow =>
  ({ id, title: id, folder: '/p', updated: new Date(now - hoursAgo * 3_600_000).toISOString() }) as unknown as SessionRow;

test('what needs an answer comes first, then the days, each once and in order', () => {
  const rows = [row('a', 1), row('b', 2), row('c', 20), row('d', 30), row('e', 24 * 5), row('f', 24 * 20), row('g', 24 * 90)];
  const groups = grouped(rows, { b: 'needs_user', d: 'running' }, now);
  expect(groups.map((group) => [group.name, group.rows.map((one) => one.id)])).toEqual([
    ['Waiting for you', ['b']],
    ['Today', ['a']],
    ['Yesterday', ['c', 'd']],
    ['Last 7 days', ['e']],
    ['Last 30 days', ['f']],
    ['Earlier', ['g']],
  ]);
});

test('a list without questions has no group for them', () => {
  expect(grouped([row('a', 0)], {}, now).map((group) => group.name)).toEqual(['Today']);
});
