// The sub-tasks of a request as they stand; the rules are those of `crates/surfaces/src/conversation/board.rs`.

import type { Event } from '../wire';
import type { Draft, Handlers } from './draft';
import { ignored } from './draft';
import { spend } from './model';
import type { BoardTask, Item } from './view';

type Board = Extract<Item, { is: 'subtasks' }>;
type Moved = Extract<Event, { type: 'subtask' }>;
type Planned = Extract<Event, { type: 'subtasks.planned' }>;

/** Whether nothing more comes of it. */
export const isOver = ({ status }: Pick<BoardTask, 'status'>) => status === 'completed' || status === 'skipped' || status === 'stopped';
const any = () => true;

/** The tasks of a plan; what is known of them stays. */
function tasks(plan: Planned['plan'], known: BoardTask[]): BoardTask[] {
  return plan.tasks.map(({ id, title, instruction, dependsOn, model }) => ({
    ...(known.find((task) => task.id === id) ?? { id, status: 'pending', progress: 0, attempt: 0, summary: '' }),
    name: title || (instruction.split('\n')[0] ?? ''),
    dependsOn,
    model,
  }));
}

function planned(draft: Draft, event: Planned) {
  // Another plan without a call replaces the last one or changes a task of it. A call that delegates starts another board.
  const board = draft.turn(event.request)?.items.findLast((item): item is Board => item.is === 'subtasks');
  if (board && !event.call) {
    draft.change(event.request, 'subtasks', any, (item) => ({ ...item, tasks: tasks(event.plan, item.tasks) }));
  } else {
    draft.add(event.request, { is: 'subtasks', tasks: tasks(event.plan, []) });
  }
}

function moved(task: BoardTask, event: Moved): BoardTask {
  const { status, progress, usage, time } = event;
  const attempt = event.attempt ?? 0;
  let { began, ended, reservedUsd } = task;
  if (attempt > task.attempt) [began, ended, reservedUsd] = [time, undefined, undefined];
  const next: BoardTask = { ...task, status, progress, attempt, costUsd: usage?.costUsd, usage: usage ?? task.usage, began, ended };
  if (isOver(next) || status === 'failed') next.ended ??= time;
  next.worker = event.worker ?? task.worker;
  next.error = event.error?.message;
  next.summary = event.summary ?? task.summary;
  next.reservedUsd = event.reservedUsd ?? reservedUsd;
  next.leftBehind = event.leftBehind;
  return next;
}

export const subtaskEvents = {
  'subtasks.planned': planned,
  'subtasks.started'(draft, event) {
    draft.change(event.request, 'subtasks', any, (item) => ({ ...item, order: event.executionOrder }));
  },
  subtask(draft, event) {
    const board = draft.turn(event.request)?.items.findLast((item): item is Board => item.is === 'subtasks');
    const before = board?.tasks.find((task) => task.id === event.subtask)?.usage;
    if (event.usage) spend(draft, event.usage, before);
    draft.change(event.request, 'subtasks', any, (item) => ({
      ...item,
      tasks: item.tasks.map((task) => (task.id === event.subtask ? moved(task, event) : task)),
    }));
  },
  'subtasks.unplanned': ignored,
  'subtasks.resized': ignored,
  'subtasks.cancelled': ignored,
  'subtasks.merging': ignored,
  'subtasks.resolved': ignored,
  'subtasks.shared': ignored,
} satisfies Partial<Handlers>;
