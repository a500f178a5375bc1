import { afterEach, expect, test, vi } from 'vitest';
import { newlyWaiting, notify, notifies, setNotify, windowTitle } from './attention';
import { statesOf, withOpen } from './sessions.svelte';

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

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  localStorage.clear();
});

/** A browser whose person answers like this when a page wants to notify them. */
function browser(answer: 'granted' | 'denied') {
  const shown: string[] = [];
  class Stub {
    static permission = 'default';
    static requestPermission = async () => (Stub.permission = answer);
    onclick?: () => void;
    constructor(_title: string, { body }: { body: string }) {
      shown.push(body);
    }
    close() {}
  }
  vi.stubGlobal('Notification', Stub);
  vi.stubGlobal('isSecureContext', true);
  return shown;
}

test('notifications are off until the person and the browser allow them', async () => {
  browser('denied');
  expect(await setNotify(true)).toMatch(/blocks notifications/);
  expect(notifies()).toBe(false);
  browser('granted');
  expect(notifies()).toBe(false);
  expect(await setNotify(true)).toBe('');
  expect(notifies()).toBe(true);
  await setNotify(false);
  expect(notifies()).toBe(false);
});

test('nobody is notified of what they are looking at', async () => {
  const shown = browser('granted');
  await setNotify(true);
  const look = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('visible');
  notify('s1', 'Fix a test', () => undefined);
  expect(shown).toEqual([]);
  look.mockReturnValue('hidden');
  notify('s1', 'Fix a test', () => undefined);
  expect(shown).toEqual(['Fix a test']);
});

test('the open session knows its state before the list does', () => {
  const listed = { a: 'needs_user', b: 'running', c: 'interrupted' };
  expect(withOpen(listed, null)).toBe(listed);
  expect(withOpen(listed, { id: 'a', state: 'idle' })).toEqual({ b: 'running', c: 'interrupted' });
  expect(withOpen(listed, { id: 'c', state: 'idle' })).toEqual(listed);
  expect(withOpen(listed, { id: 'd', state: 'needs_user' })).toEqual({ ...listed, d: 'needs_user' });
});
