import { expect, it } from 'vitest';
import { count, parts, share, toggle, total } from './choose';

const files = [
  { path: 'a.txt', diff: '', hunks: 3 },
  { path: 'b.txt', diff: '', hunks: 1 },
  { path: 'c.png', diff: '', hunks: 0 },
];
const [a, b, c] = files as [(typeof files)[0], (typeof files)[0], (typeof files)[0]];

it('all is wanted until something is left out, and a file that is wanted whole is named without numbers', () => {
  expect([count(files, new Set()), total(files)]).toEqual([5, 5]);
  expect(parts(files, new Set())).toEqual([{ path: 'a.txt' }, { path: 'b.txt' }, { path: 'c.png' }]);
});

it('places and files are left out and taken back', () => {
  let left = toggle(toggle(new Set<string>(), a, 2), c);
  expect(share(a, left)).toBe('some');
  expect(parts(files, left)).toEqual([{ path: 'a.txt', hunks: [1, 3] }, { path: 'b.txt' }]);
  expect(count(files, left)).toBe(3);
  // A file of which some is left out comes back whole first.
  left = toggle(left, a);
  expect(share(a, left)).toBe('all');
  left = toggle(toggle(left, a), b);
  expect(parts(files, left)).toEqual([]);
});
