// The fixtures of the conversation fold in Rust (`crates/surfaces/src/conversation/golden.rs`): the page must come to
// the same entries from the same events.

import { expect, test } from 'vitest';
import { spokenAs } from './dedupe';
import { empty, fold, type Item, type Turn, type View } from './fold';
import { partialSummary } from './structured';
import type { Event } from './wire';

interface Fixture {
  events: Event[];
  entries: Record<string, unknown>[];
}
const fixtures = import.meta.glob<Fixture>('../../../crates/surfaces/tests/conversation/*.json', { eager: true, import: 'default' });

type Entry = Record<string, unknown>;

function reply(turn: Turn, item: Extract<Item, { is: 'said' }>): Entry[] {
  const text = turn.structured ? partialSummary(item.text) : item.text;
  if (!text.trim() && !item.thinking.trim()) return [];
  const state = item.partial ? 'partial' : item.live ? 'live' : 'done';
  return [{ is: 'reply', call: item.call, text, thinking: item.thinking, state }];
}

function tool(turn: Turn, { call, name, status, run }: Extract<Item, { is: 'tool' }>): Entry {
  const state = status ?? (turn.status === undefined ? 'running' : 'interrupted');
  const command = run ? { command: run.command, exitCode: run.exitCode ?? null, finished: run.finished } : null;
  return { is: 'tool', call, name, state, command };
}

function question(view: View, id: string): Entry {
  const asked = view.checkpoints[id]!;
  const { choice, text, by } = asked.resolved ?? {};
  const answer = asked.resolved ? { choice, text: text ?? null, by } : null;
  return { is: 'question', checkpoint: id, kind: asked.kind, title: asked.title, answer };
}

function entries(view: View, turn: Turn, item: Item): Entry[] {
  switch (item.is) {
    case 'said':
      return reply(turn, item);
    case 'tool':
      return [tool(turn, item)];
    case 'commands': {
      const { state, ok, failed, done, total } = item.series;
      return [{ is: 'commands', state, ok, failed, done, total }];
    }
    case 'change': {
      const { changeSet, files, command, undone } = item;
      return [{ is: 'change', changeSet, files: files.map((file) => file.path), command: command ?? null, undone }];
    }
    case 'checkpoint':
      return [question(view, item.checkpoint)];
    case 'plan': {
      const status = view.plan?.version === item.version ? view.plan.status : {};
      return [{ is: 'plan', version: item.version, steps: item.steps.map((step) => [step.id, step.title, status[step.id] ?? null]) }];
    }
    case 'subtasks':
      return [{ is: 'subtasks', tasks: item.tasks.map(({ id, name, status }) => ({ id, name, status })) }];
    case 'steered':
      return [{ is: 'userMessage', text: item.text, via: item.via, by: item.by, images: 0 }];
    case 'banner':
      return [{ is: 'banner', level: item.level, text: item.text }];
    case 'retry':
      return [{ is: 'retry', message: item.error.message }];
    case 'context':
      return [];
  }
}

/** The call whose words have said the answer already. */
function saidBy(items: Entry[], summary: string): unknown {
  const since = items.slice(items.findLastIndex((one) => one['is'] === 'userMessage') + 1);
  const last = since.findLast((one) => one['is'] === 'reply' && String(one['text']).trim() !== '');
  const text = String(last?.['text'] ?? '');
  return summary.trim() && text && spokenAs(text, { summary }) === summary.trim() && text.includes(summary.trim()) ? last?.['call'] : null;
}

function shown(view: View): Entry[] {
  return view.turns.flatMap((turn) => {
    const said: Entry = { is: 'userMessage', text: turn.text, via: 'request', by: 'user', images: turn.images.length };
    const all = [said, ...turn.items.flatMap((item) => entries(view, turn, item))];
    if (turn.answer) all.push({ is: 'answer', summary: turn.answer.summary, saidBy: saidBy(all, turn.answer.summary) });
    if (turn.status) all.push({ is: 'summary', status: turn.status, error: turn.error?.message ?? null });
    return all;
  });
}

test('there are fixtures', () => {
  expect(Object.keys(fixtures).length).toBeGreaterThanOrEqual(9);
});

for (const [path, { events, entries }] of Object.entries(fixtures)) {
  const name = path.split('/').at(-1);
  test(`the page has the entries of ${name}`, () => {
    expect(shown(fold(empty('s1'), events))).toEqual(entries);
  });
  test(`${name} is the same whether it was watched or is read later`, () => {
    const one = events.reduce((view, event) => fold(view, [event]), empty('s1'));
    expect(shown(one)).toEqual(shown(fold(empty('s1'), events.filter((event) => event.seq !== undefined))));
  });
}
