// Numbers, times, prices, plurals, and lists for people. `crates/vocab/src/format.rs` has the same rules, and both are
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

/** How long ago, in the shortest words that are still true. */
export function age(time: string, now: number): string {
  const passed = Math.max(0, now - Date.parse(time)) / 1000;
  if (passed < 60) return 'just now';
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < 7 * 86_400) return `${Math.floor(passed / 86_400)} d ago`;
  return new Date(time).toLocaleDateString();
}

/** The same, as the list of changes has it. */
export function ago(time: string, now: number): string {
  const passed = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (passed < 60) return `${passed}s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)}m ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)}h ago`;
  return `${Math.floor(passed / 86_400)}d ago`;
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
