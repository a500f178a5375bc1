import { expect, it } from 'vitest';
import type { Turn } from './fold';
import { back, complete, end } from './windowing';

const tool = { is: 'tool', call: '', name: 'search', input: {} } as const;
const turn = (items: number) => ({ items: Array.from({ length: items }, () => tool) }) as unknown as Turn;

it('a short conversation is drawn whole', () => {
  const turns = [turn(3), turn(0), turn(5)];
  expect(complete(back(turns, end(turns), 100))).toBe(true);
  expect(complete(back([], end([]), 100))).toBe(true);
});

it('a long one is drawn from its end, inside a turn if need be, and reaches its beginning piece by piece', () => {
  const turns = [turn(2), turn(500)];
  let start = back(turns, end(turns), 84);
  expect(start).toEqual({ turn: 1, item: 420 });
  let pieces = 0;
  while (!complete(start)) {
    const next = back(turns, start, 40);
    expect(next.turn < start.turn || next.item < start.item).toBe(true);
    start = next;
    pieces += 1;
  }
  expect(pieces).toBe(11);
});

it('one long text is a piece of its own', () => {
  const said = { is: 'said', call: '', text: 'words '.repeat(10_000), thinking: '', live: false };
  const turns = [{ items: [tool, said, tool] }] as unknown as Turn[];
  expect(back(turns, end(turns), 10)).toEqual({ turn: 0, item: 1 });
});
