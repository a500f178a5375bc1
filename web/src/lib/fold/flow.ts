// What a request is to be: its path, its plan, and what a person is asked.

import type { Handlers } from './draft';
import { ignored } from './draft';
import type { Checkpoint } from './view';

export const flowEvents = {
  stage(draft, event) {
    draft.update(event.request, { stage: event.stage });
    draft.note(event.request, event.label);
  },
  route(draft, event) {
    const found = draft.turn(event.request);
    if (found?.talksFirst) found.talks = event.decision === 'chat';
  },
  intent(draft, event) {
    draft.update(event.request, { intent: { intent: event.intent, phrase: event.phrase, accepted: event.accepted } });
  },
  requirements: ignored,
  'plan.proposed'(draft, event) {
    const { version, steps, summary, by } = event;
    draft.view.plan = { version, steps, status: {}, started: false };
    draft.add(event.request, { is: 'plan', version, summary, steps, by });
  },
  'plan.started'({ view }) {
    if (view.plan) view.plan = { ...view.plan, started: true };
  },
  'plan.step'(draft, event) {
    const { view } = draft;
    if (view.plan) view.plan = { ...view.plan, status: { ...view.plan.status, [event.step]: event.status } };
    draft.update(event.request, { step: { number: event.number, of: event.of, title: event.title } });
  },
  steps({ view }, event) {
    view.todos = event.todos;
  },
  'checkpoint.opened'(draft, event) {
    const { seq: _seq, session: _session, type: _type, ...rest } = event;
    const opened: Checkpoint = { ...rest, request: event.request ?? '' };
    draft.copy('checkpoints')[event.checkpoint] = opened;
    draft.view.open = [...draft.view.open.filter((one) => one !== event.checkpoint), event.checkpoint];
    draft.add(event.request, { is: 'checkpoint', checkpoint: event.checkpoint });
  },
  'checkpoint.resolved'(draft, event) {
    const { view } = draft;
    const asked = view.checkpoints[event.checkpoint];
    const resolved = { choice: event.choice, text: event.text, by: event.by };
    if (asked) draft.copy('checkpoints')[event.checkpoint] = { ...asked, resolved };
    view.open = view.open.filter((one) => one !== event.checkpoint);
  },
  'rule.known': ignored,
  'rule.added': ignored,
  'rule.removed': ignored,
  'mcp.listed': ignored,
  'mcp.called': ignored,
  'skill.listed': ignored,
  'skill.loaded': ignored,
  'agent.listed': ignored,
  'agent.loaded': ignored,
  checks: ignored,
  'hook.started': ignored,
  'hook.finished': ignored,
} satisfies Partial<Handlers>;
