// A task as it is edited, and what of it has changed.

import type { Task } from './taskGroups';

export interface TaskDraft {
  title: string;
  notes: string;
  /** When it is due, in words that the server reads. They count more than the fields below. */
  when: string;
  date: string;
  time: string;
  priority: string;
  category: string;
  tags: string;
  repeat: string;
  interval: number;
  weekdays: string[];
  until: string;
}

export function draftOf(task: Task): TaskDraft {
  const { type = 'none', interval = 1, weekdays = [], until } = task.recurrence ?? {};
  return {
    title: task.title,
    notes: task.notes ?? '',
    when: '',
    date: task.scheduledFor ?? '',
    time: task.timeOfDay ?? '',
    priority: task.priority,
    category: task.category ?? 'task',
    tags: (task.tags ?? []).join(', '),
    repeat: type,
    interval,
    weekdays: [...weekdays],
    until: until ?? '',
  };
}

const tagsOf = (text: string) => [...new Set(text.split(/[,\s]+/).map((tag) => tag.replace(/^#/, '')).filter(Boolean))];

function recurrence({ repeat, interval, weekdays, until }: TaskDraft): Record<string, unknown> {
  if (repeat === 'none') return { type: 'none' };
  return { type: repeat, until: until || null, ...(repeat === 'weekdays' ? {} : { interval: Math.max(1, Math.round(interval) || 1) }), ...(repeat === 'weekly' ? { weekdays } : {}) };
}

/** The fields that a save sends: only those that differ. */
export function changesOf(before: TaskDraft, after: TaskDraft): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  const differs = (name: keyof TaskDraft) => JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  if (after.title.trim() !== before.title) changed['title'] = after.title.trim();
  if (differs('notes')) changed['notes'] = after.notes;
  if (differs('priority')) changed['priority'] = after.priority;
  if (differs('category')) changed['category'] = after.category;
  if (tagsOf(before.tags).join(',') !== tagsOf(after.tags).join(',')) changed['tags'] = tagsOf(after.tags);
  if (after.when.trim()) changed['when'] = after.when.trim();
  if (differs('date')) changed['scheduledFor'] = after.date || null;
  if (differs('time')) changed['timeOfDay'] = after.time || null;
  if ((['repeat', 'interval', 'weekdays', 'until'] as const).some(differs)) changed['recurrence'] = recurrence(after);
  return changed;
}
