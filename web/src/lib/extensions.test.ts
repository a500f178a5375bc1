import { expect, test } from 'vitest';
import { extensionGroups, stateOf, type Extension } from './extensions';

const one = (kind: string, name: string, state: string) => ({ kind, name, description: '', state, source: 'user', origin: 'x', reasons: [] }) as Extension;

test('every kind is listed, the pending ones first, and unknown kinds at the end', () => {
  const groups = extensionGroups([one('skill', 'b', 'loaded'), one('skill', 'a', 'ignored'), one('skill', 'c', 'pending'), one('widget', 'w', 'loaded')]);
  const skills = groups.find((group) => group.kind === 'skill');
  expect(skills?.list.map(({ name }) => name)).toEqual(['c', 'b', 'a']);
  expect(groups.at(-1)).toMatchObject({ kind: 'widget', name: 'Widget' });
  expect(groups.find((group) => group.kind === 'hook')?.list).toEqual([]);
});

test('a state has words, also a new one', () => {
  expect(stateOf('pending')).toEqual(['Pending', 'waits']);
  expect(stateOf('login')).toEqual(['Login needed', 'waits']);
  expect(stateOf('sleeping')).toEqual(['sleeping', '']);
});
