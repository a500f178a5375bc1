// Numbers, days, times, prices, plurals, and lists for people. `crates/vocab/src/format.rs` has the same rules, and both are
// tested with `format.json`.

import { visible } from './visible';

const whole = new Intl.NumberFormat('en-US');

export function count(number: number): string {
  return whole.format(number);
}

export function tokens(number: number): string {
  return plural(number, 'token');
}

/** `$0`, `$0.0042`, `$1.50`: small prices keep four digits, because a call often costs less than a cent. */
export function money(usd: number): string {
  if (usd === 0) return '$0';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

function many(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/** `1 hunk`, `2 hunks`, `3 matches`, `4 entries`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${number === 1 ? noun : many(noun)}`;
}

/** `7 ms`, `2.2 s`, `57 s`, `3 min 4 s`, `2 h 1 min`. */
export function duration(ms: number): string {
  const all = Math.floor(ms / 1000);
  if (ms < 1000) return `${Math.floor(ms)} ms`;
  if (ms < 10_000) return `${all}.${Math.floor((ms % 1000) / 100)} s`;
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
}

/** A time that still runs: tenths of a second for the first minute, so that it visibly ticks. */
export function runningTime(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1000)}.${Math.floor((ms % 1000) / 100)} s` : duration(ms);
}

function joined(items: string[], word: string): string {
  if (items.length < 3) return items.join(` ${word} `);
  return `${items.slice(0, -1).join(', ')}, ${word} ${items.at(-1)}`;
}

/** `a`, `a and b`, `a, b, and c`. */
export function list(items: string[]): string {
  return joined(items, 'and');
}

/** `a`, `a or b`, `a, b, or c`. */
export function choices(items: string[]): string {
  return joined(items, 'or');
}

/** `just now`, `3s ago`, `5m ago`, `2h ago`, `4d ago`. */
export function age(time: string, now: number): string {
  const passed = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (passed === 0) return 'just now';
  if (passed < 60) return `${passed}s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)}m ago`;
  if (passed < 172_800) return `${Math.floor(passed / 3600)}h ago`;
  return `${Math.floor(passed / 86_400)}d ago`;
}

const parts = { weekday: 'short', month: 'short', day: 'numeric', timeZone: 'UTC' } as const;
const thisYear = new Intl.DateTimeFormat('en-US', parts);
const otherYear = new Intl.DateTimeFormat('en-US', { ...parts, year: 'numeric' });

/** A day such as `2026-11-15` as `Sun, Nov 15`, with the year if it is not the current one: `Sat, Jan 31, 2099`. */
export function day(date: string, today: string): string {
  const time = new Date(`${date}T00:00Z`);
  // A day that does not exist is shown as it was written.
  if (Number.isNaN(time.getTime()) || time.toISOString().slice(0, 10) !== date) return date;
  return (date.slice(0, 4) === today.slice(0, 4) ? thisYear : otherYear).format(time);
}

/** The day of a time where the person is, such as `2026-11-15`. */
export function localDay(ms: number): string {
  const date = new Date(ms);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}

/** `Sun, Nov 15, 14:03`, where the person is. */
export function moment(time: string, now: number): string {
  const then = new Date(time);
  const clock = [then.getHours(), then.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
  return `${day(localDay(then.getTime()), localDay(now))}, ${clock}`;
}

/** A text of others in a line of its own. */
export function shorten(text: string, most: number): string {
  const line = visible(text, 'line').replace(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`;
}

/** The last two parts of a folder's path. */
export function folderName(path: string): string {
  return visible(path.split('/').filter(Boolean).slice(-2).join('/') || path, 'line');
}

/** A model's name for a small place: long ones without the folders in them. */
export function modelName(name: string): string {
  const parts = name.split('/').filter(Boolean);
  return name.length <= 36 || parts.length < 3 ? name : `${parts[0]}/${parts.at(-1)}`;
}

/** The last part of a model's name, for a place with little room. */
export const shortModel = (name: string): string => name.split('/').filter(Boolean).at(-1) ?? name;
