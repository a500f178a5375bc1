import { expect, test } from 'vitest';
import { changesOf, draftOf } from './taskForm';

const task = { id: 1, title: 'Pay rent', notes: '', category: 'task', priority: 'medium', scheduledFor: '2026-11-30', timeOfDay: null, completed: false, recurrence: { type: 'none', until: null }, tags: ['home'] };

test('a save sends what differs, and nothing else', () => {
  const before = draftOf(task);
  expect(changesOf(before, { ...before })).toEqual({});
  expect(changesOf(before, { ...before, title: ' Pay the rent ', tags: '#home, flat', date: '', time: '09:00' })).toEqual({ title: 'Pay the rent', tags: ['home', 'flat'], scheduledFor: null, timeOfDay: '09:00' });
  expect(changesOf(before, { ...before, when: 'every monday 9am' })).toEqual({ when: 'every monday 9am' });
});

test('a rhythm is sent whole, with the fields that it has', () => {
  const before = draftOf(task);
  expect(changesOf(before, { ...before, repeat: 'weekly', interval: 2, weekdays: ['mon'], until: '2027-01-31' })).toEqual({ recurrence: { type: 'weekly', interval: 2, weekdays: ['mon'], until: '2027-01-31' } });
  expect(changesOf(before, { ...before, repeat: 'weekdays', interval: 3 })).toEqual({ recurrence: { type: 'weekdays', until: null } });
  const repeating = draftOf({ ...task, recurrence: { type: 'daily', until: null } });
  expect(changesOf(repeating, { ...repeating, repeat: 'none' })).toEqual({ recurrence: { type: 'none' } });
});
