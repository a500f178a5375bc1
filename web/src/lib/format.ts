// Numbers and times for people.

import { visible } from './visible';

const whole = new Intl.NumberFormat('en-US');

export function count(number: number): string {
  return whole.format(number);
}

export function tokens(number: number): string {
  return `${count(number)} tokens`;
}

export function money(usd: number): string {
  if (usd === 0) return '$0';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const all = Math.floor(ms / 1000);
  return `${Math.floor(all / 60)} min ${all % 60} s`;
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
