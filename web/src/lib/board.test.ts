import { expect, test } from 'vitest';
import { current, heading, isLong, notMerged, percent, sides, startingText, subtaskAsk, waiting, waits, type Board } from './board';
import { empty, fold, type Checkpoint, type View } from './fold';
import type { Event } from './wire';

const event = (time: number, fact: Record<string, unknown>) =>
  ({ time: new Date(time * 1000).toISOString(), session: 's1', request: 'r1', ...fact }) as unknown as Event;
const task = (id: string, title: string, dependsOn: string[] = []) => ({ id, title, instruction: `${title}\nwith care`, contextFiles: [], model: 'm', dependsOn, priority: 0, kind: 'simple' });
const planned = (...tasks: ReturnType<typeof task>[]) => event(0, { type: 'subtasks.planned', by: 'model', plan: { tasks, executionOrder: 'dependency-graph', estimatedTimeMs: 0 } });
const moved = (time: number, subtask: string, status: string, more: Record<string, unknown> = {}) =>
  event(time, { type: 'subtask', subtask, status, progress: 0, dependsOn: [], model: 'm', usage: { inputTokens: 1, cachedTokens: 0, outputTokens: 1, costUsd: 0.01 }, attempt: 1, ...more });

function begun(...events: Event[]): View {
  const all = [event(0, { type: 'request.received', text: 'Add authentication', mode: 'auto' }), planned(task('1', 'Create user model'), task('2', 'Create login route'), task('3', 'Create auth middleware', ['1', '2']))];
  return fold(empty('s1'), [...all, ...events]);
}
const boards = (view: View) => view.turns[0]!.items.filter((item): item is Board => item.is === 'subtasks');
const started = () => event(1, { type: 'subtasks.started', executionOrder: 'dependency-graph' });

test('a task on the board has its progress, cost, worker and time', () => {
  const view = begun(started(), moved(2, '1', 'running', { worker: 'w1' }), moved(5, '1', 'running', { progress: 0.254 }));
  const [board] = boards(view);
  expect(board?.tasks[0]).toEqual(expect.objectContaining({ name: 'Create user model', status: 'running', worker: 'w1', costUsd: 0.01, began: new Date(2000).toISOString(), ended: undefined }));
  expect(percent(board!.tasks[0]!)).toBe(25);
  expect(heading(board!, true)).toBe('🔄 Running 3 sub-tasks in parallel...');
  expect(board!.tasks.filter(waits).map(waiting)).toEqual(['Waiting: 3. Create auth middleware (depends on 1, 2)']);
});

test('what workers spend is in the sum of the session once', () => {
  const usage = (inputTokens: number, costUsd: number) => ({ usage: { inputTokens, cachedTokens: 0, outputTokens: 1, costUsd } });
  const own = event(1, { type: 'usage', model: 'm', inputTokens: 100, cachedTokens: 0, outputTokens: 1, costUsd: 0.5 });
  const view = begun(started(), own, moved(2, '1', 'running', usage(10, 0.125)), moved(3, '1', 'completed', usage(30, 0.25)), moved(4, '2', 'running', usage(5, 0.25)));
  expect(view.usage).toEqual(expect.objectContaining({ inputTokens: 135, outputTokens: 3, costUsd: 1 }));
});

test('a second attempt starts the clock again, and its error is gone', () => {
  const view = begun(started(), moved(2, '1', 'running'), moved(4, '1', 'failed', { error: { kind: 'model', message: 'no reply' } }));
  expect(boards(view)[0]?.tasks[0]).toEqual(expect.objectContaining({ error: 'no reply', ended: new Date(4000).toISOString() }));
  const again = fold(view, [moved(6, '1', 'running', { attempt: 2 }), moved(9, '1', 'completed', { attempt: 2, summary: 'Made it.', progress: 1 })]);
  expect(boards(again)[0]?.tasks[0]).toEqual(expect.objectContaining({ error: undefined, began: new Date(6000).toISOString(), ended: new Date(9000).toISOString(), summary: 'Made it.' }));
});

test('a task shows its reserve, and what its worker did that is not merged', () => {
  const leftBehind = { files: ['new.txt', 'a, b'], more: 3, deleted: ['lib/'], ignored: 2 };
  const view = begun(started(), moved(2, '1', 'running', { reservedUsd: 0.5 }), moved(3, '1', 'running'), moved(4, '1', 'completed', { leftBehind }), moved(4, '2', 'completed'));
  const [first, second] = boards(view)[0]!.tasks;
  expect(first).toEqual(expect.objectContaining({ reservedUsd: 0.5, leftBehind }));
  expect(notMerged(first!.leftBehind!)).toBe('Not merged: wrote new.txt, "a, b", and 3 more files; deleted lib/; 2 ignored paths');
  expect(second?.leftBehind).toBeUndefined();
  expect(notMerged({ files: [], more: 0, ignored: 1 })).toBe('Not merged: 1 ignored path');
  const again = fold(view, [moved(5, '1', 'running', { attempt: 2 })]);
  expect(boards(again)[0]?.tasks[0]).toEqual(expect.objectContaining({ reservedUsd: undefined, leftBehind: undefined }));
});

test('an edited plan keeps what is known, and a call that delegates again has its own board', () => {
  const view = begun(started(), moved(2, '1', 'completed'));
  const edited = fold(view, [planned(task('1', 'Create the model'), task('2', 'Create login route'))]);
  expect(boards(edited).map(({ tasks }) => tasks.map(({ name, status }) => `${name} ${status}`))).toEqual([['Create the model completed', 'Create login route pending']]);
  const retried = fold(edited, [moved(3, '2', 'skipped'), planned(task('1', 'Create the model'), task('2', 'Create login route'))]);
  expect(boards(retried).length).toBe(1);
  const second = fold(retried, [{ ...planned(task('1', 'Review')), call: 'c2' } as Event]);
  expect(boards(second).map(({ tasks }) => tasks.length)).toEqual([2, 1]);
});

test('the board is under way from the start until every task is over', () => {
  const view = begun();
  expect(current(view.turns[0]!.items)).toBeUndefined();
  const running = fold(view, [started(), moved(2, '1', 'completed'), moved(2, '2', 'failed')]);
  expect(current(running.turns[0]!.items)?.tasks.length).toBe(3);
  const over = fold(running, [moved(3, '2', 'skipped'), moved(3, '3', 'skipped')]);
  expect(current(over.turns[0]!.items)).toBeUndefined();
  expect(heading(boards(over)[0]!, true)).toBe('1 of 3 sub-tasks completed');
});

const asked = (more: Record<string, unknown>) => ({ kind: 'confirm', checkpoint: 'k1', request: 'r1', title: '', choices: [], time: '', ...more }) as unknown as Checkpoint;
const conflict = { path: 'a.py', subtask: '2', against: ['1'], base: 'a\n', ours: 'b\n', theirs: 'c\n' };

test('an edit starts from the plan, or from the change that does not fit', () => {
  const plan = asked({ about: 'subtaskPlan', text: '1. Create user model\n' });
  expect([startingText(plan, 'edit'), startingText(plan, 'start_a'), isLong(plan, 'edit')]).toEqual(['1. Create user model\n', '', true]);
  expect(startingText(asked({ about: 'mergeConflict', conflict }), 'edit')).toBe('c\n');
  expect(startingText(asked({ about: 'subtaskFailed' }), 'edit')).toBe('');
  expect(subtaskAsk(asked({ about: 'mergeBlocked', obstacle: { reason: 'x' } }))?.about).toBe('mergeBlocked');
  expect(startingText(asked({ about: 'tool' }), 'edit')).toBe('');
});

test('a file that is not shown whole is not offered for editing', () => {
  const long = { ...conflict, partial: true };
  expect(startingText(asked({ about: 'mergeConflict', conflict: long }), 'edit')).toBe('');
});

test('both sides of a conflict have names', () => {
  expect(sides(conflict).map(([name]) => name)).toEqual(['Before', 'A, sub-task 1', 'B, sub-task 2']);
  expect(sides({ ...conflict, against: [] })[1]).toEqual(['A, in the folder', 'b\n']);
});

test('only questions about sub-tasks are taken for them', () => {
  expect(subtaskAsk(asked({ about: 'plan' }))).toBeUndefined();
  expect(subtaskAsk(asked({}))).toBeUndefined();
  expect(subtaskAsk(asked({ about: 'breakdown' }))?.about).toBe('breakdown');
});
