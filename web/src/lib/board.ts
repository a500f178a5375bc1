// The board of sub-tasks in words, and what a question asks about them. The sentences are those of
// `crates/surfaces/src/words/subtasks.rs`.

import type { BoardTask, Checkpoint, Item } from './fold';
import { isOver } from './fold/subtasks';
import { list, plural } from './format';
import type { Given, LeftBehind, SubtaskAsk, SubtaskStatus } from './wire';

export type Board = Extract<Item, { is: 'subtasks' }>;

export const signs: Record<SubtaskStatus, string> = {
  pending: '',
  running: '▶',
  needs_user: '?',
  completed: '✓',
  failed: '✗',
  skipped: '–',
  stopped: '–',
};
export const names: Record<SubtaskStatus, string> = {
  pending: 'pending',
  running: 'running',
  needs_user: 'waits for your answer',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  stopped: 'stopped',
};

export const isAtWork = ({ status }: Pick<BoardTask, 'status'>) => status === 'running' || status === 'needs_user';

/** The line above the board. `live`: the request that they belong to has not ended. */
export function heading({ order, tasks }: Board, live: boolean): string {
  const all = tasks.length;
  if (!live || tasks.every(isOver)) return `${tasks.filter((task) => task.status === 'completed').length} of ${all} sub-tasks completed`;
  if (!order) return `${plural(all, 'sub-task')} planned, waiting for your answer`;
  if (all === 1) return '🔄 Running 1 sub-task...';
  return order === 'sequential' ? `🔄 Running ${all} sub-tasks one after the other...` : `🔄 Running ${all} sub-tasks in parallel...`;
}

export const percent = ({ progress }: BoardTask) => Math.round(100 * Math.min(1, Math.max(0, progress)));

/** It has no bar yet, because others come first. */
export const waits = ({ status, dependsOn }: BoardTask) => status === 'pending' && dependsOn.length > 0;

export const waiting = ({ id, name, dependsOn }: BoardTask) => `Waiting: ${id}. ${name} (depends on ${dependsOn.join(', ')})`;

/** Files that a line names. */
const NAMED = 10;

function files(verb: string, paths: string[] = [], more = 0): string | undefined {
  const rest = paths.length - Math.min(paths.length, NAMED) + more;
  // A name with a comma would look like two.
  const named = paths.slice(0, NAMED).map((path) => (/[,;"]/.test(path) ? JSON.stringify(path) : path));
  return paths.length ? `${verb} ${list(rest ? [...named, plural(rest, 'more file')] : named)}` : undefined;
}

/** What a worker did that is not merged. */
export function notMerged({ files: written, more, deleted, moreDeleted, ignored }: LeftBehind): string {
  const parts = [files('wrote', written, more), files('deleted', deleted, moreDeleted), ignored ? plural(ignored, 'ignored path') : undefined];
  const text = parts.filter(Boolean).join('; ');
  return text && `Not merged: ${text}`;
}

/** The board of a request, while it is under way. */
export function current(items: Item[]): Board | undefined {
  const board = items.findLast((item): item is Board => item.is === 'subtasks');
  return board?.order !== undefined && !board.tasks.every(isOver) ? board : undefined;
}

const about: Partial<Record<string, true>> = { breakdown: true, subtaskPlan: true, subtaskFailed: true, mergeConflict: true, mergeBlocked: true };

/** What a question asks about sub-tasks, if it does. */
export function subtaskAsk(asked: Checkpoint): SubtaskAsk | undefined {
  return asked.about !== undefined && about[asked.about] ? (asked as unknown as SubtaskAsk) : undefined;
}

/** The text that an answer starts from. A side that is not shown whole would be saved cut off. */
export function startingText(asked: Checkpoint, choice: string): string {
  const ask = subtaskAsk(asked);
  if (choice !== 'edit') return '';
  if (ask?.about === 'subtaskPlan') return ask.text;
  if (ask?.about === 'mergeConflict' && !ask.conflict.partial) return ask.conflict.theirs;
  return '';
}

/** Whether an answer has several lines: Enter does not send it. */
export function isLong(asked: Checkpoint, choice: string): boolean {
  return choice === 'edit' && subtaskAsk(asked) !== undefined;
}

export const breakdownNames = { fine: 'Fine-grained (Recommended)', medium: 'Medium', coarse: 'Coarse' };
export const strategyNames = { 'dependency-graph': 'Parallel (Recommended)', sequential: 'Sequential', parallel: 'Fast & Loose' };

/** Lines around the place of a conflict that are shown with it. */
const AROUND = 3;
const lines = (text: string) => text.replace(/\n$/, '').split('\n');

/** How many lines are the same at the beginning of all sides, and at their end. */
function shared(all: string[][]): [number, number] {
  const least = Math.min(...all.map((side) => side.length));
  const same = (at: (side: string[]) => string | undefined) => new Set(all.map(at)).size === 1;
  let first = 0;
  while (first < least && same((side) => side[first])) first++;
  let last = 0;
  while (last < least - first && same((side) => side.at(-1 - last))) last++;
  return [first, last];
}

export interface Side {
  name: string;
  /** Lines that all sides have before and after what is shown. */
  before: number;
  after: number;
  lines: { text: string; differs: boolean }[];
}

/** Where the sides of a conflict differ, with a few lines around it. */
export function regions(conflict: Given<'MergeConflict'>): Side[] {
  const all = sides(conflict).map(([name, text]) => ({ name, all: lines(text) }));
  const [first, last] = shared(all.map((side) => side.all));
  const [before, after] = [Math.max(0, first - AROUND), Math.max(0, last - AROUND)];
  return all.map(({ name, all }) => ({
    name,
    before,
    after,
    lines: all.map((text, at) => ({ text, differs: at >= first && at < all.length - last })).slice(before, all.length - after),
  }));
}

/** What both started from, and what each made of it. */
export function sides({ base, ours, theirs, subtask, against }: Given<'MergeConflict'>): [string, string][] {
  const first = against.length ? `A, sub-task ${against.at(-1)}` : 'A, in the folder';
  return [['Before', base], [first, ours], [`B, sub-task ${subtask}`, theirs]];
}
