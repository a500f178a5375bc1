import { expect, test } from 'vitest';
import { grouped, places, shifted, type Task } from './taskGroups';
import { rhythm } from './taskPreview';

const task = (id: number, more: Partial<Task> = {}): Task => ({ id, title: `task ${id}`, priority: 'medium', scheduledFor: null, timeOfDay: null, completed: false, ...more });

test('tasks stand under the names of their days, late ones first and dateless ones last', () => {
  const tasks = [task(1), task(2, { date: '2026-12-01' }), task(3, { scheduledFor: '2026-11-18' }), task(4, { date: '2026-11-10', overdue: true }), task(5, { date: '2026-11-19' })];
  expect(grouped(tasks, '2026-11-18').map((group) => [group.name, group.tasks.map((one) => one.id)])).toEqual([
    ['Overdue', [4]],
    ['Today', [3]],
    ['Tomorrow', [5]],
    ['Tue, Dec 1', [2]],
    ['No date', [1]],
  ]);
});

test('while a task is dragged, every day of the week can take it', () => {
  expect(places('2026-11-28').map((place) => place.gives)).toEqual(['2026-11-28', '2026-11-29', '2026-11-30', '2026-12-01', '2026-12-02', '2026-12-03', '2026-12-04', null]);
});

test('days are counted without time zones, and a rhythm is words', () => {
  expect(shifted('2026-03-28', 2)).toBe('2026-03-30');
  expect(shifted('2026-01-01', -1)).toBe('2025-12-31');
  expect(rhythm({ type: 'weekly', interval: 2, weekdays: ['mon', 'thu'] })).toBe('every 2 weeks on Mon and Thu');
  expect(rhythm({ type: 'weekdays' })).toBe('weekdays');
  expect(rhythm({ type: 'daily' })).toBe('daily');
});
