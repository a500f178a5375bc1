// What is done: tools, commands and changes of files.

import { fields } from '../tools';
import type { ChangedFile, Event, Given } from '../wire';
import type { Draft, Handlers } from './draft';
import { ignored } from './draft';
import type { Item, Run } from './view';

/** The longest piece of a command's live output that is kept; all of it is behind its `ref`. */
const LIVE_OUTPUT = 64 * 1024;

type Tool = Extract<Item, { is: 'tool' }>;

/** A file, or some places in it, in words. */
function part({ path, hunks }: Given<'ChangePart'>): string {
  return hunks?.length ? `${hunks.length > 1 ? 'parts' : 'part'} ${hunks.join(', ')} of ${path}` : path;
}

function tool(draft: Draft, event: { request?: string; call?: string }, to: (item: Tool) => Item): boolean {
  return draft.change(event.request, 'tool', (item) => item.call === event.call, to);
}

/** A file that was changed twice in one set. */
function joined(before: ChangedFile | undefined, file: ChangedFile): ChangedFile {
  if (!before) return file;
  return { ...file, isNew: before.isNew, added: before.added + file.added, removed: before.removed + file.removed };
}

function applied(draft: Draft, event: Extract<Event, { type: 'change.applied' | 'change.inherited' }>) {
  const { view } = draft;
  const { changeSet, files, position, by, request } = event;
  // All files that one answer changes are one set, and are told of one by one.
  const begun = view.changes.find((one) => one.changeSet === changeSet);
  const earlier = view.changes.filter((one) => one.position < position && one !== begun);
  const spent = request === undefined ? 0 : view.usage.costUsd - view.billedUsd;
  if (request !== undefined) view.billedUsd = view.usage.costUsd;
  const costUsd = ('costUsd' in event ? event.costUsd : undefined) ?? (((begun?.costUsd ?? 0) + spent) || undefined);
  // A hook may change a file again that its call has changed.
  const others = begun?.files.filter((one) => !files.some((file) => file.path === one.path)) ?? [];
  const again = files.map((file) => joined(begun?.files.find((one) => one.path === file.path), file));
  const all = [...others, ...again];
  const time = begun?.time ?? event.time;
  const set = { changeSet, files: all, position, command: begun ? begun.command : by?.command, request, time, costUsd, undone: false };
  view.changes = [...earlier, set];
  view.position = position;
  view.refusal = null;
  if (event.type === 'change.applied') draft.add(request, { is: 'change', changeSet, files, command: by?.command, undone: false });
}

function moved(draft: Draft, event: Extract<Event, { type: 'change.reverted' | 'change.reapplied' }>) {
  const { view } = draft;
  const undone = event.type === 'change.reverted';
  const of = view.changes.find((one) => one.changeSet === event.changeSet);
  view.changes = view.changes.map((one) => (one === of ? { ...one, undone } : one));
  view.position = event.position;
  view.refusal = null;
  const mark = () => draft.change(of?.request, 'change', (item) => item.changeSet === event.changeSet && item.undone !== undone, (item) => ({ ...item, undone }));
  while (mark());
}

/** How a background command ended. */
function endOf(why: string, exitCode?: number | null, signal?: string | null): string {
  if (why === 'model') return 'was stopped by the model';
  if (why === 'user') return 'was stopped';
  if (why === 'session') return 'ended with the session';
  if (why === 'killed') return 'ended when Trimtab was interrupted. It was not started again';
  if (typeof exitCode === 'number') return `exited with code ${exitCode}`;
  return signal ? `was killed by ${signal}` : 'ended';
}

export const workEvents = {
  'tool.started'(draft, event) {
    // A tool that waited for its permission is told once.
    draft.addTool(event.request, { is: 'tool', call: event.call, name: event.title ?? event.name, input: fields(event.input) });
  },
  'tool.stopping'(draft, event) {
    tool(draft, event, (item) => ({ ...item, stopping: true }));
  },
  'tool.finished'(draft, event) {
    const { status, preview, ref, images } = event;
    tool(draft, event, (item) => ({ ...item, status, preview, ref, images }));
  },
  'command.started'(draft, event) {
    const run: Run = { command: event.command, cwd: event.cwd, output: '', finished: false };
    const known = tool(draft, event, (item) => ({ ...item, run }));
    const [call, input] = [event.call ?? '', { command: event.command }];
    if (!known) draft.addTool(event.request, { is: 'tool', call, name: 'run_command', input, run });
  },
  'command.background'(draft, event) {
    const { id, call, command, name } = event;
    draft.view.background = [...draft.view.background, { id, call, command, name, ports: [] }];
    tool(draft, event, (item) => (item.run ? { ...item, run: { ...item.run, finished: true, background: id } } : item));
    draft.add(event.request, { is: 'context', text: `Running in the background as ${id}: ${command}` });
  },
  'command.ready': ignored,
  'command.port'(draft, event) {
    const { id, port, reachable } = event;
    draft.view.background = draft.view.background.map((one) => (one.id === id ? { ...one, ports: [...one.ports, { port, reachable }] } : one));
  },
  'command.stopping'(draft, event) {
    draft.view.background = draft.view.background.map((one) => (one.id === event.id ? { ...one, stopping: true } : one));
  },
  'command.output'(draft, event) {
    draft.change(
      event.request,
      'tool',
      (item) => item.run !== undefined && !item.run.finished && (event.call ?? item.call) === item.call,
      (item) => {
        const run = item.run as Run;
        return { ...item, run: { ...run, output: (run.output + event.text).slice(-LIVE_OUTPUT) } };
      },
    );
  },
  'command.finished'(draft, event) {
    const ended = event.background;
    if (ended) {
      draft.view.background = draft.view.background.filter((one) => one.id !== ended.id);
      draft.add(event.request, { is: 'context', text: `${ended.id} ${endOf(ended.why, event.exitCode, event.signal)}: ${event.command}` });
      return;
    }
    draft.change(
      event.request,
      'tool',
      (item) => item.run !== undefined && (event.call ?? item.call) === item.call,
      (item) => {
        const { exitCode, signal, timedOut, durationMs, preview, ref } = event;
        const run = { ...(item.run as Run), exitCode, signal, timedOut, durationMs, ref };
        return { ...item, run: { ...run, output: preview, finished: true } };
      },
    );
  },
  commands(draft, event) {
    const { seq: _s, time: _t, session: _n, request, type: _k, ...series } = event;
    draft.view.series = series;
    const known = draft.change(request, 'commands', () => true, () => ({ is: 'commands', series }));
    if (!known) draft.add(request, { is: 'commands', series });
  },
  'proposal.opened'(draft, event) {
    const { proposal, kind, version } = event;
    draft.copy('proposals')[proposal] = { proposal, kind, operations: event.operations.map(fields), version };
  },
  'proposal.chosen'(draft, event) {
    draft.add(event.request, { is: 'context', text: `You chose a part of it. Left out: ${event.left.map(part).join('; ')}` });
  },
  'proposal.resolved'(draft, event) {
    const known = draft.view.proposals[event.proposal];
    if (known) draft.copy('proposals')[event.proposal] = { ...known, verdict: event.verdict };
  },
  'change.applied': applied,
  'change.inherited': applied,
  'change.reverted': moved,
  'change.reapplied': moved,
  'change.moving': ignored,
  'change.expired'({ view }, event) {
    const gone = new Set(event.changeSets);
    view.changes = view.changes.map((one) => (gone.has(one.changeSet) ? { ...one, expired: true } : one));
  },
  'change.refused'({ view }, event) {
    view.refusal = { reason: event.reason, conflicts: event.conflicts ?? [] };
  },
  'tasks.applied': ignored,
  'tasks.reverted': ignored,
  'tasks.reapplied': ignored,
  'ask.viewed': ignored,
  'ask.repaired': ignored,
} satisfies Partial<Handlers>;
