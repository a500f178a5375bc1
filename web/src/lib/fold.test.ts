import { expect, test } from 'vitest';
import { empty, fold, pending, running } from './fold';
import type { Event } from './wire';

let seq = 0;
const at = (fields: object): Event =>
  ({ seq: ++seq, time: '2026-11-15T08:30:00.000Z', session: 's1', request: 'r1', ...fields }) as Event;
const live = (fields: object): Event =>
  ({ time: '2026-11-15T08:30:00.000Z', session: 's1', request: 'r1', ...fields }) as Event;
const start = () => {
  seq = 0;
  return fold(empty('s1'), [at({ type: 'session.opened', folder: '/home/u/p', request: undefined }), at({ type: 'request.received', text: 'hi', images: [], mode: 'auto' })]);
};

test('words appear as they come and are replaced by those that are stored', () => {
  let view = fold(start(), [at({ type: 'model.called', call: 'c1', model: 'm', attempt: 1 }), live({ type: 'reply.delta', call: 'c1', text: 'He' })]);
  view = fold(view, [live({ type: 'reply.delta', call: 'c1', text: 'llo' })]);
  expect(view.turns[0]?.items).toEqual([{ is: 'said', call: 'c1', text: 'Hello', thinking: '', live: true }]);
  view = fold(view, [at({ type: 'reply.saved', call: 'c1', message: { parts: [{ type: 'thinking', text: 'hm' }, { type: 'text', text: 'Hello.' }] } })]);
  expect(view.turns[0]?.items).toEqual([{ is: 'said', call: 'c1', text: 'Hello.', thinking: 'hm', live: false }]);
});

test('what a model reads and thinks is told until its words come', () => {
  let view = fold(start(), [live({ type: 'reply.delta', call: 'c1', text: '', progress: { readTokens: 3400, promptTokens: 7903 } })]);
  expect([view.turns[0]?.doing, view.turns[0]?.items]).toEqual(['Reading 3,400 of 7,903 tokens', []]);
  view = fold(view, [live({ type: 'reply.delta', call: 'c1', text: '', thinking: 'Hm.' })]);
  expect(view.turns[0]?.doing).toBe('Thinking…');
  view = fold(view, [live({ type: 'reply.delta', call: 'c1', text: 'Yes.' })]);
  expect([view.turns[0]?.doing, view.turns[0]?.items.length]).toEqual([undefined, 1]);
  view = fold(view, [at({ type: 'usage', model: 'm', inputTokens: 10, cachedTokens: 5, outputTokens: 2, tokensPerS: 12.5 })]);
  expect(view.speed).toBe(12.5);
});

test('a reply that is stored while it comes never takes words from the screen', () => {
  let view = fold(start(), [live({ type: 'reply.delta', call: 'c1', text: 'Hello, you' })]);
  view = fold(view, [at({ type: 'reply.saved', call: 'c1', partial: true, message: { parts: [{ type: 'text', text: 'Hello' }] } })]);
  expect(view.turns[0]?.items[0]).toMatchObject({ text: 'Hello, you', live: true });
});

test('an answer in a form that another one follows stays where it was said', () => {
  const answer = (summary: string, sections: object[] = []) =>
    at({ type: 'answer', summary, sections, todos: [], fileChanges: [], commands: [], nextSteps: [] });
  const saved = (call: string) => at({ type: 'reply.saved', call, message: { parts: [{ type: 'text', text: '{"summary":"…"}' }] } });
  let view = fold(empty('s1'), [
    at({ type: 'session.opened', folder: '/p', request: undefined, seq: 1 }),
    { ...at({ type: 'request.received', text: 'hi', images: [], mode: 'auto', settings: { facts: { tools: false } } }) },
  ]);
  view = fold(view, [saved('c1'), answer('I look first.', [{ heading: 'Why', content: 'To know.', codeBlocks: [{ language: 'sh', code: 'ls\n' }] }])]);
  expect(view.turns[0]?.items[0]).not.toHaveProperty('words');
  view = fold(view, [saved('c2'), answer('Done.')]);
  expect(view.turns[0]?.answer?.summary).toBe('Done.');
  expect(view.turns[0]?.items).toMatchObject([{ call: 'c1', words: 'I look first.\n\n### Why\n\nTo know.\n\n```sh\nls\n```' }, { call: 'c2' }]);
});

test('calls behind the scenes are not part of the conversation', () => {
  const view = fold(start(), [
    at({ type: 'model.called', call: 'c1', model: 'm', attempt: 1, purpose: 'route' }),
    live({ type: 'reply.delta', call: 'c1', text: '{"decision"' }),
    at({ type: 'reply.saved', call: 'c1', message: { parts: [{ type: 'text', text: '{}' }] } }),
  ]);
  expect(view.turns[0]?.items).toEqual([]);
});

test('an event that was seen before changes nothing', () => {
  const view = start();
  const again = fold(view, [{ ...at({ type: 'banner', level: 'info', text: 'x' }), seq: 2 } as Event]);
  expect(again.turns[0]?.items).toEqual([]);
});

test('what did not change stays the same object', () => {
  let view = fold(start(), [at({ type: 'request.finished', status: 'completed', usage: {} })]);
  view = fold(view, [at({ type: 'request.received', request: 'r2', text: 'more', images: [], mode: 'auto' })]);
  const after = fold(view, [live({ type: 'reply.delta', request: 'r2', call: 'c9', text: 'x' })]);
  expect(after.turns[0]).toBe(view.turns[0]);
  expect(after.turns[1]).not.toBe(view.turns[1]);
});

test('a question is open until it is answered, wherever that happens', () => {
  let view = fold(start(), [at({ type: 'checkpoint.opened', checkpoint: 'k1', kind: 'permission', title: 'Run?', choices: [{ id: 'allow', label: 'Allow' }], about: 'tool' })]);
  expect(view.open).toEqual(['k1']);
  expect(pending(view, view.turns[0]!)).toBe(true);
  view = fold(view, [at({ type: 'checkpoint.resolved', checkpoint: 'k1', choice: 'allow', by: 'user' })]);
  expect(view.open).toEqual([]);
  expect(view.checkpoints['k1']?.resolved?.choice).toBe('allow');
});

test('a command grows in its tool card and ends with its result', () => {
  let view = fold(start(), [
    at({ type: 'tool.started', call: 'c1t1', name: 'run_command', input: { command: 'make' } }),
    at({ type: 'command.started', call: 'c1t1', command: 'make', argv: ['make'], cwd: '/p' }),
    live({ type: 'command.output', call: 'c1t1', text: 'one\n' }),
    live({ type: 'command.output', call: 'c1t1', text: 'two\n' }),
  ]);
  expect(view.turns[0]?.items[0]).toMatchObject({ is: 'tool', run: { output: 'one\ntwo\n', finished: false } });
  view = fold(view, [at({ type: 'command.finished', call: 'c1t1', command: 'make', exitCode: 2, timedOut: false, preview: 'one\ntwo\nbad\n' })]);
  expect(view.turns[0]?.items[0]).toMatchObject({ run: { output: 'one\ntwo\nbad\n', exitCode: 2, finished: true } });
});

test('undoing and redoing moves the position and marks the change', () => {
  const files = [{ path: 'a', added: 1, removed: 0, isNew: true, isDeleted: false }];
  let view = fold(start(), [at({ type: 'change.applied', changeSet: 'cs1', files, position: 0 })]);
  view = fold(view, [at({ type: 'change.reverted', request: undefined, changeSet: 'cs1', files, position: -1 })]);
  expect(view.position).toBe(-1);
  expect(view.changes[0]?.undone).toBe(true);
  expect(view.turns[0]?.items[0]).toMatchObject({ is: 'change', undone: true });
  view = fold(view, [at({ type: 'change.reapplied', request: undefined, changeSet: 'cs1', files, position: 0 })]);
  expect(view.turns[0]?.items[0]).toMatchObject({ undone: false });
});

test('all files of one answer are one change, with what it cost, and are undone together', () => {
  const file = (path: string) => ({ path, added: 1, removed: 0, modified: 0, isNew: true, isDeleted: false });
  const usage = (costUsd: number) => at({ type: 'usage', model: 'm', inputTokens: 1, cachedTokens: 0, outputTokens: 1, costUsd });
  let view = fold(start(), [
    usage(0.5),
    at({ type: 'change.applied', changeSet: 'cs1', files: [file('a')], position: 0 }),
    at({ type: 'change.applied', changeSet: 'cs1', files: [file('b')], position: 0 }),
    usage(0.25),
    at({ type: 'change.applied', changeSet: 'cs2', files: [file('a')], position: 1 }),
  ]);
  expect(view.changes.map((set) => [set.changeSet, set.files.map((one) => one.path), set.costUsd])).toEqual([
    ['cs1', ['a', 'b'], 0.5],
    ['cs2', ['a'], 0.25],
  ]);
  const undo = (changeSet: string, position: number) => at({ type: 'change.reverted', request: undefined, changeSet, files: [], position });
  view = fold(view, [undo('cs2', 0), undo('cs1', -1)]);
  expect(view.turns[0]?.items.map((item) => item.is === 'change' && item.undone)).toEqual([true, true, true]);
});

test('a change after an undo takes the place of what was undone', () => {
  const files: never[] = [];
  let view = fold(start(), [at({ type: 'change.applied', changeSet: 'cs1', files, position: 0 }), at({ type: 'change.applied', changeSet: 'cs2', files, position: 1 })]);
  view = fold(view, [at({ type: 'change.reverted', changeSet: 'cs2', files, position: 0 }), at({ type: 'change.applied', changeSet: 'cs3', files, position: 1 })]);
  expect(view.changes.map((set) => set.changeSet)).toEqual(['cs1', 'cs3']);
});

test('a request runs until it is finished, and again when it is reopened', () => {
  let view = start();
  expect(running(view)?.id).toBe('r1');
  view = fold(view, [at({ type: 'request.finished', status: 'needs_user', usage: {} })]);
  expect(running(view)).toBeUndefined();
  view = fold(view, [at({ type: 'request.reopened' })]);
  expect(running(view)?.id).toBe('r1');
});

test('each stage of the work is told in its order, and none twice', () => {
  const told = ['Analyzing request & architecting strategy...', 'Routing intent to code tools...', 'Interrogating example.com...', 'Synthesizing final intelligence...'];
  let view = start();
  const seen: (string | undefined)[] = [];
  for (const label of told) {
    for (const stage of ['a', 'a']) view = fold(view, [at({ type: 'stage', stage, label })]);
    seen.push(view.turns[0]?.thoughts.at(-1));
  }
  expect(seen).toEqual(told);
  expect(view.turns[0]?.thoughts).toEqual(told);
});

test('ten thousand events are folded in a moment', () => {
  const events: Event[] = [];
  let view = start();
  for (let n = 0; n < 10_000; n++) events.push(at({ type: 'tool.started', call: `c${n}`, name: 'read', input: {} }));
  view = fold(view, events);
  expect(view.turns[0]?.items).toHaveLength(10_000);
});

test('types of a newer server are passed over', () => {
  const view = start();
  const after = fold(view, [at({ type: 'moon.phase' })]);
  expect(after.turns).toEqual(view.turns);
  expect(after.seq).toBe(view.seq + 1);
});

test('what is talked about can be carried out where a person chose to talk, or talk comes first, unless that is off', () => {
  const talks = (mode: string, copilot: object, decision: string) => {
    seq = 0;
    const said = at({ type: 'request.received', text: 'hi', images: [], mode, settings: { copilot } });
    return fold(empty('s1'), [said, at({ type: 'route', decision, confidence: 1, complexity: 0, categories: [], reason: '' })]).turns[0]?.talks;
  };
  expect(talks('chat', {}, 'chat')).toBe(true);
  expect(talks('auto', {}, 'chat'), 'an answer in words is no talk').toBe(false);
  expect(talks('auto', { conversational: true }, 'chat')).toBe(true);
  expect(talks('auto', { conversational: true }, 'plan'), 'it is being carried out').toBe(false);
  for (const mode of ['auto', 'chat']) expect(talks(mode, { conversational: true, allow_execution_transition: false }, 'chat')).toBe(false);
});

test('work can be paused unless that is off', () => {
  expect(start().turns[0]?.pausable).toBe(true);
  const view = fold(empty('s1'), [at({ type: 'request.received', text: 'hi', images: [], mode: 'auto', settings: { copilot: { pause_enabled: false } } })]);
  expect(view.turns[0]?.pausable).toBe(false);
});
