// What models say and cost, and what the conversation was made to fit.

import { count, plural, tokens } from '../format';
import { inWords } from '../structured';
import { hang } from '../gallery';
import type { Event, Usage } from '../wire';
import type { Draft, Handlers } from './draft';
import { ignored } from './draft';

function saved(draft: Draft, event: Extract<Event, { type: 'reply.saved' }>) {
  draft.update(event.request, { doing: undefined });
  if (event.call in draft.view.aside) return;
  let [text, thinking] = ['', ''];
  for (const part of event.message.parts) {
    if (part.type === 'text') text += part.text;
    if (part.type === 'thinking') thinking += part.text;
  }
  const partial = event.partial === true;
  const state = { live: partial, ...(partial ? { partial } : {}) };
  const known = draft.change(
    event.request,
    'said',
    (item) => item.call === event.call,
    // While words still come, the ones on the screen may be ahead of those that are stored.
    (item) => ({ ...item, ...state, text: partial && item.text.length > text.length ? item.text : text, thinking }),
  );
  if (!known && (text || thinking)) draft.add(event.request, { is: 'said', call: event.call, text, thinking, ...state });
}

function banner(draft: Draft, event: Extract<Event, { type: 'banner' }>) {
  // The end of the request says that it was stopped.
  if (event.text === '[Conversation interrupted]') return;
  // Lines that belong together come one after the other.
  const about = event.request ?? draft.view.turns.at(-1)?.id;
  const last = draft.turn(about)?.items.at(-1);
  if (last?.is === 'banner' && last.level === event.level) {
    draft.turn(about)?.items.splice(-1, 1, { ...last, text: `${last.text}\n${event.text}` });
  } else {
    draft.add(about, { is: 'banner', level: event.level, text: event.text });
  }
}

/** Adds what was spent since `before` to what the session has spent. */
export function spend({ view }: Draft, now: Usage, before?: Usage) {
  const all = view.usage;
  view.usage = {
    inputTokens: all.inputTokens + now.inputTokens - (before?.inputTokens ?? 0),
    cachedTokens: all.cachedTokens + now.cachedTokens - (before?.cachedTokens ?? 0),
    outputTokens: all.outputTokens + now.outputTokens - (before?.outputTokens ?? 0),
    costUsd: all.costUsd + (now.costUsd ?? 0) - (before?.costUsd ?? 0),
    estimated: all.estimated || now.estimated === true,
  };
}

function usage(draft: Draft, event: Extract<Event, { type: 'usage' }>) {
  const { view } = draft;
  spend(draft, event);
  view.speed = event.tokensPerS ?? view.speed;
  if (event.contextTokens !== undefined && event.contextWindow) {
    view.context = { tokens: event.contextTokens, window: event.contextWindow };
  }
}

export const modelEvents = {
  'model.called'(draft, event) {
    if (event.purpose) draft.copy('aside')[event.call] = event.purpose;
    // A retry is over when the next call is made.
    const found = draft.turn(event.request);
    if (found) found.items = found.items.filter((item) => item.is !== 'retry');
  },
  'model.failed'(draft, event) {
    draft.change(event.request, 'said', (item) => item.call === event.call && item.live, (item) => ({ ...item, live: false, partial: true }));
    if (event.retryInMs !== undefined) draft.add(event.request, { is: 'retry', error: event.error, retryInMs: event.retryInMs });
  },
  'reply.delta'(draft, event) {
    if (event.call in draft.view.aside) return;
    // What is only read or thought is no words yet.
    const { readTokens, promptTokens } = event.progress ?? {};
    const doing = readTokens === undefined ? (event.thinking ? 'Thinking…' : undefined) : `Reading ${count(readTokens)} of ${count(promptTokens ?? 0)} tokens`;
    draft.update(event.request, { doing: event.text ? undefined : doing });
    if (!event.text) return;
    const grown = draft.change(
      event.request,
      'said',
      (item) => item.call === event.call,
      (item) => ({ ...item, text: item.text + event.text, live: true }),
    );
    if (!grown) draft.add(event.request, { is: 'said', call: event.call, text: event.text, thinking: '', live: true });
  },
  'reply.saved': saved,
  answer(draft, event) {
    const found = draft.turn(event.request);
    if (!found) return;
    // An answer that another one follows stays where it was said.
    const earlier = found.structured ? found.answer : undefined;
    if (earlier) draft.change(event.request, 'said', (item) => item.call === found.answeredBy, (item) => ({ ...item, words: inWords(earlier) }));
    const last = found.items.findLast((item) => item.is === 'said');
    found.answeredBy = last?.is === 'said' ? last.call : undefined;
    found.answer = event;
  },
  banner,
  usage,
  bug(draft, event) {
    const found = draft.turn(event.request);
    if (found) found.bugs = [...found.bugs, { kind: event.kind, message: event.message }];
  },
  reflection: ignored,
  'context.loaded'(draft, event) {
    const files = event.files ?? [];
    if (!files.length) return;
    const text = `📂 Loaded ${plural(files.length, 'file')}`;
    draft.add(event.request, { is: 'context', text, detail: files.map((file) => file.path).join(', ') });
  },
  'context.nested': ignored,
  'context.compressing': ignored,
  'context.compressed'(draft, event) {
    const text = `Compressed earlier turns: ${count(event.before)} → ${tokens(event.after)}`;
    draft.add(event.request, { is: 'context', text, detail: event.summary });
  },
  'context.edited': ignored,
  'context.restored': ignored,
  'context.full'({ view }, event) {
    view.full = { limit: event.limit, used: event.used, of: event.of };
  },
  'memory.noted'(draft, event) {
    const noted = event.entries.map((entry) => `“${entry.text}”`).join(', ');
    draft.add(event.request, { is: 'context', text: `Remembered for later sessions: ${noted}`, link: 'memory' });
  },
  'memory.recalled'(draft, event) {
    const all = event.entries.length;
    const text = all
      ? `The model sees ${plural(all, 'memory')}`
      : 'The model no longer sees any memories';
    const detail = event.entries.map((entry) => entry.text).join('\n');
    draft.add(event.request, { is: 'context', text, ...(detail ? { detail } : {}), link: 'memory' });
  },
  'image.made': hung,
  'image.failed': hung,
  'image.selected': hung,
  'image.planned': ignored,
  'image.saving': ignored,
} satisfies Partial<Handlers>;

function hung({ view }: Draft, event: Extract<Event, { type: 'image.made' | 'image.failed' | 'image.selected' }>) {
  view.gallery = hang(view.gallery, event, event.request);
}
