import { expect, test } from 'vitest';
import { newlyWaiting, windowTitle } from './attention';
import { statesOf } from './sessions.svelte';

test('the title counts the sessions that wait', () => {
  expect(windowTitle('Fix a test', 0)).toBe('Fix a test · Trimtab');
  expect(windowTitle('Fix a test', 2)).toBe('(2) Fix a test · Trimtab');
  expect(windowTitle('', 1)).toBe('(1) Trimtab');
});

test('only a session that did not wait before is told about', () => {
  expect(newlyWaiting(new Set(['a']), [{ id: 'a' }, { id: 'b' }])).toEqual([{ id: 'b' }]);
  expect(newlyWaiting(new Set(['a']), [])).toEqual([]);
});

test('a session with several requests has the state of the one that waits', () => {
  const jobs = [{ session: 'a', state: 'needs_user' }, { session: 'a', state: 'running' }, { session: 'b', state: 'running' }, { session: 'c', state: 'queued' }];
  expect(statesOf(jobs, [{ session: 'c' }])).toEqual({ a: 'needs_user', b: 'running', c: 'needs_user' });
});
