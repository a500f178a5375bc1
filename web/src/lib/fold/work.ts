// What is done: tools, commands and changes of files.

import { fields } from '../tools';
import type { Event, Given } from '../wire';
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

function applied(draft: Draft, event: Extract<Event, { type: 'change.applied' | 'change.inherited' }>) {
  const { view } = draft;
  const { changeSet, files, position, by, request } = event;
  // All files that one answer changes are one set, and are told of one by one.
  const begun = view.changes.find((one) => one.changeSet === changeSet);
  const earlier = view.changes.filter((one) => one.position < position && one !== begun);
  const spent = request === undefined ? 0 : view.usage.costUsd - view.billedUsd;
  if (request !== undefined) view.billedUsd = view.usage.costUsd;
  const costUsd = ('costUsd' in event ? event.costUsd : undefined) ?? (((begun?.costUsd ?? 0) + spent) || undefined);
  const all = begun ? [...begun.files, ...files] : files;
  const time = begun?.time ?? event.time;
  const set = { changeSet, files: all, position, command: by?.command, request, time, costUsd, undone: false };
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
