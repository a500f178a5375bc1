import { expect, it } from 'vitest';
import type { Item } from './fold';
import { runs } from './windowing';
import results from './results.json';
import { together, resultForPerson } from './tools';

const tool = (name: string, status?: string) => ({ is: 'tool', call: '', name, input: {}, status }) as Item;

it('many looks are told in a line', () => {
  expect(together(['search', 'read_file', 'search', 'list_files'])).toBe('Searched 2 times, read 1 file, listed 1 folder');
});

it('looks that went well are drawn as one; what failed, changes something or still runs stands by itself', () => {
  const items = [
    ...['search', 'read_file', 'read_file', 'search'].map((name) => tool(name, 'ok')),
    tool('read_file', 'error'),
    tool('search', 'ok'),
    tool('edit_file', 'ok'),
    ...['search', 'search', 'search', 'search', 'search'].map((name) => tool(name, 'ok')),
    tool('search'),
  ];
  const sizes = (skip: number) => runs(items, skip).map((run) => [run.at, run.items.length]);
  expect(sizes(0)).toEqual([[0, 4], [4, 1], [5, 1], [6, 1], [7, 5], [12, 1]]);
  // Drawn from the middle of a run, the rest of it is a run too, under the same name.
  expect(sizes(8)).toEqual([[8, 4], [12, 1]]);
});

it('what is written for the model is not shown to the person', () => {
  for (const [written, shown] of results as [string, string][]) expect(resultForPerson(written)).toBe(shown);
  expect(resultForPerson('line\n[Full result saved as ref:output-r1]')).toBe('line');
});
