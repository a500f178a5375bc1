// Tasks by day: what is late first, then each day by its name, and last what has none.

import { day } from './format';

export interface Task {
  id: number;
  title: string;
  notes?: string;
  category?: string;
  priority: string;
  scheduledFor: string | null;
  timeOfDay: string | null;
  completed: boolean;
  recurrence?: { type: string; interval?: number; weekdays?: string[]; until?: string | null };
  completedDates?: string[];
  tags?: string[];
  /** In a view by day: the day this line is about, and whether it is done then. */
  date?: string | null;
  done?: boolean;
  overdue?: boolean;
}

export interface TaskGroup {
  name: string;
  /** The day that a task gets here; nothing where it loses its day. A group of many days gives none. */
  gives?: string | null;
  tasks: Task[];
}

export const repeats = (task: Task) => task.recurrence !== undefined && task.recurrence.type !== 'none';
export const dayOf = (task: Task) => task.date ?? task.scheduledFor;

/** A day so many days later. Days have no time zone here. */
export function shifted(date: string, by: number): string {
  return new Date(Date.parse(`${date}T00:00Z`) + by * 86_400_000).toISOString().slice(0, 10);
}

export function dayName(date: string, today: string): string {
  if (date === today) return 'Today';
  if (today && date === shifted(today, 1)) return 'Tomorrow';
  return day(date, today);
}

export function grouped(tasks: Task[], today: string): TaskGroup[] {
  const late: Task[] = [];
  const days = new Map<string, Task[]>();
  const none: Task[] = [];
  for (const task of tasks) {
    const date = dayOf(task);
    if (!date) none.push(task);
    else if (task.overdue) late.push(task);
    else days.set(date, [...(days.get(date) ?? []), task]);
  }
  const dated = [...days].sort(([one], [other]) => one.localeCompare(other)).map(([date, tasks]) => ({ name: dayName(date, today), gives: date, tasks }));
  return [
    ...(late.length ? [{ name: 'Overdue', tasks: late }] : []),
    ...dated,
    ...(none.length ? [{ name: 'No date', gives: null, tasks: none }] : []),
  ];
}

/** Where a task can be put that is dragged: the days of the coming week, or no day. */
export function places(today: string): { name: string; gives: string | null }[] {
  const week = today ? Array.from({ length: 7 }, (_, at) => shifted(today, at)) : [];
  return [...week.map((date) => ({ name: dayName(date, today), gives: date })), { name: 'No date', gives: null }];
}
