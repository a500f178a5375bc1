// The session and its requests: begun, named, handed off; received, steered, ended.

import type { Draft, Handlers } from './draft';
import { ignored } from './draft';
import type { Event } from '../wire';

type Received = Extract<Event, { type: 'request.received' }>;

function received(draft: Draft, event: Received) {
  const { view } = draft;
  const id = event.request;
  if (!id || draft.knows(id)) return;
  const copilot = event.settings?.copilot;
  const transition = copilot?.allow_execution_transition !== false;
  draft.begin({
    id,
    seq: event.seq ?? 0,
    text: event.text,
    time: event.time,
    mode: event.mode,
    tags: event.tags ?? [],
    images: event.images ?? [],
    structured: event.settings?.facts?.tools === false,
    items: [],
    thoughts: [],
    stage: '',
    bugs: [],
    stopping: false,
    pausing: false,
    pausable: copilot?.pause_enabled !== false,
    talks: transition && event.mode === 'chat',
    talksFirst: transition && copilot?.conversational === true,
  });
  Object.assign(view, { todos: [], series: null, plan: null, full: null });
  if (event.settings?.model) view.model = event.settings.model;
  const { autonomy: settings, autonomyLimit: limit } = event.settings ?? {};
  view.autonomy = { chosen: view.autonomy.chosen, settings: settings ?? undefined, limit: limit ?? undefined };
  view.budgetUsd = event.settings?.budgetUsd ?? 0;
}

/** It runs again. */
function again(draft: Draft, event: { request?: string }) {
  draft.update(event.request, { pausing: false, status: undefined, finished: undefined });
}

export const sessionEvents = {
  'session.opened'({ view }, event) {
    view.folder = event.folder;
    view.parent = event.parentSessionId;
  },
  'session.autonomy'({ view }, event) {
    view.autonomy = { ...view.autonomy, chosen: event.level };
  },
  'session.titled'({ view }, event) {
    view.title = event.title;
  },
  'session.inherited'({ view }, event) {
    view.parent = event.from;
    view.prefill = event.prefill;
  },
  'session.handoff'({ view }, event) {
    view.child = event.child;
    view.full = null;
  },
  'session.reclaimed'({ view }, event) {
    if (view.child === event.child) view.child = undefined;
  },
  'session.extended'({ view }) {
    view.full = null;
  },
  'session.refused'(draft, event) {
    draft.add(draft.view.turns.at(-1)?.id, { is: 'banner', level: 'warning', text: event.reason });
  },
  'session.forked'({ view }) {
    // The processes stay with the session that the fork was made of.
    view.background = [];
  },
  'session.worker'({ view }, event) {
    view.worksOn = { parent: event.parent, subtask: event.subtask };
  },
  'session.dismissed': ignored,
  'request.received': received,
  'request.joined'(draft, event) {
    const via = event.checkpoint ? 'answer' : 'joined';
    if (via === 'joined') draft.view.joined = { into: event.into, text: event.text.trim() };
    draft.add(event.into, { is: 'steered', text: event.text, by: 'user', via });
  },
  'request.steered'(draft, event) {
    if (event.by === 'engine') return;
    const { joined } = draft.view;
    draft.view.joined = null;
    // A message that joined the request is told once.
    if (joined?.into === event.request && joined?.text === event.text) return;
    draft.add(event.request, { is: 'steered', text: event.text, by: event.by, via: 'steered' });
  },
  'request.stopping'(draft, event) {
    draft.update(event.request, { stopping: true });
  },
  'request.pausing'(draft, event) {
    draft.update(event.request, { pausing: true });
  },
  'request.resumed': again,
  'request.reopened': again,
  'request.finished'(draft, event) {
    const found = draft.turn(event.request);
    if (!found) return;
    const { status, error, usage, reason, done } = event;
    Object.assign(found, { status, error, usage, reason, done, finished: event.time, stopping: false, pausing: false });
    found.items = found.items.map((item) => (item.is === 'said' && item.live ? { ...item, live: false } : item));
  },
  'request.adjusted': ignored,
  'request.relisted': ignored,
  'request.assessing': ignored,
} satisfies Partial<Handlers>;
