// What operations on tasks would change, in the words of `crates/surfaces/src/cli/tasks/preview.rs`. Both are tested with
// `taskPreview.json`.

import type { Operation } from './assistant';
import { day, list, plural } from './format';

export interface Preview {
  before?: Fields | null;
  after?: Fields | null;
  count?: number | null;
  sampleIds?: number[] | null;
}
type Fields = Record<string, unknown>;

const ACTIONS: Record<string, string> = {
  create: 'Create',
  update: 'Update',
  delete: 'Delete',
  complete: 'Complete',
  complete_occurrence: 'Complete one day',
  bulk_update: 'Update tasks',
  bulk_complete: 'Complete tasks',
  bulk_delete: 'Delete tasks',
};

/** What an operation does, as a verb. */
export function action(op: Operation): string {
  const name = ACTIONS[op.op] ?? op.op;
  return op['completed'] === false ? name.replace('Complete', 'Reopen') : name;
}

const NAMES: Record<string, string> = { scheduledFor: 'when', timeOfDay: 'time', recurrence: 'repeats', completed: 'done', completedDates: 'done on', occurrenceDate: 'day' };
const UNITS: Record<string, string> = { daily: 'day', weekly: 'week', monthly: 'month', yearly: 'year' };
const DULL = new Set(['id', 'op', 'updatedAt', 'createdAt']);
/** In the order in which a task has its fields. */
const NEW: Fields = { notes: '', category: 'task', priority: 'medium', scheduledFor: null, timeOfDay: null, completed: false, recurrence: { type: 'none', until: null }, completedDates: [], tags: [] };

/** A date has commas in it. */
const bracketed = (parts: string[]) => (parts.length ? `  (${parts.join('; ')})` : '');
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const first = (items: string[], most = 5) => (items.length > most ? `${items.slice(0, most).join(', ')}, and ${items.length - most} more` : list(items));

interface Recurrence {
  type?: string;
  interval?: number;
  weekdays?: string[];
  until?: string | null;
}

/** `monthly`, `every 2 weeks on Mon and Thu`. */
export function rhythm({ type = 'none', interval = 1, weekdays = [] }: Recurrence): string {
  if (type === 'none') return '';
  const base = interval === 1 || type === 'weekdays' ? type : `every ${plural(interval, UNITS[type] ?? type)}`;
  const names = type === 'weekdays' ? [] : weekdays.map((name) => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`);
  return names.length ? `${base} on ${list(names)}` : base;
}

function repetition(recurrence: Recurrence): string {
  const words = rhythm(recurrence);
  if (!words) return '';
  return recurrence.until ? `${words} until ${day(recurrence.until, '')}` : `${words}, without an end`;
}

function value(of: unknown): string {
  const text = (): string => {
    if (of === null || of === undefined) return '';
    if (typeof of === 'boolean') return of ? 'yes' : 'no';
    if (Array.isArray(of)) return first(of.map(value));
    if (typeof of === 'object') return repetition(of);
    // A day that is one, and the first characters of any other text.
    return Array.from(day(String(of), '')).slice(0, 40).join('');
  };
  return text() || 'none';
}

/** What comes to a list and what goes. Without either, only the order differs. */
function listChange(was: unknown[], will: unknown[]): string {
  const signed = (sign: string, of: unknown[], without: unknown[]) => {
    const items = of.filter((item) => !without.some((other) => same(item, other))).map(value);
    return items.length ? [`${sign}${first(items)}`] : [];
  };
  return [...signed('+', will, was), ...signed('−', was, will)].join(' ') || 'another order';
}

/** Fields with the values that they get. */
export function given(fields: Fields): string {
  return bracketed(Object.entries(fields).filter(([name]) => !DULL.has(name)).map(([name, to]) => `${NAMES[name] ?? name}: ${value(to)}`));
}

function differences(before: Fields, after: Fields): string {
  const changed = Object.entries(after).filter(([name, to]) => !DULL.has(name) && !same(before[name], to));
  return bracketed(
    changed.map(([name, to]) => {
      const was = before[name];
      const what = Array.isArray(was) && Array.isArray(to) ? listChange(was, to) : `${value(was)} → ${value(to)}`;
      return `${NAMES[name] ?? name}: ${what}`;
    }),
  );
}

/** The tasks that an operation would touch, and what would be different. */
export function outcome({ before, after, count, sampleIds }: Preview, op: Operation): string {
  if (count !== undefined && count !== null) {
    const ids = (sampleIds ?? []).map((id) => `#${id}`).join(' ');
    const set = op.op === 'bulk_update' ? given((op['set'] ?? {}) as Fields) : '';
    return `${plural(count, 'task')}: ${ids}${count > 10 ? ' …' : ''}${set}`;
  }
  const one = after ?? before;
  if (!one) return '';
  const named = `#${one['id']} ${one['title']}`;
  if (!after) return named;
  if (before) return named + differences(before, after);
  return named + given(Object.fromEntries(Object.keys(NEW).filter((name) => name in after && !same(after[name], NEW[name])).map((name) => [name, after[name]])));
}
