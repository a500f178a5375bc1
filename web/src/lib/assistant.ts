// The assistant over the tasks: a stream of events, and a plain request where the stream fails.

import { post } from './api';
import { day, list } from './format';
import { action, given } from './taskPreview';

export interface Operation {
  op: string;
  id?: number;
  title?: string;
  [field: string]: unknown;
}
export interface Annotated {
  op: Operation;
  errors: string[];
}
export interface Option {
  id: number;
  title: string;
  scheduledFor?: string | null;
}
export interface Clarify {
  question: string;
  selection?: { ids?: number[]; date?: string | null; priority?: string | null };
}
export interface Result {
  text: string;
  operations: Annotated[];
  requiresClarification?: boolean;
  question?: string;
  options?: Option[];
  moreOptions?: Option[];
  sections?: string[];
}
export interface Said {
  role: 'user' | 'assistant';
  text: string;
}
export interface Heard {
  summary?: (text: string) => void;
  /** `sections`: what an answer may say beside which tasks, a day (`date`) or how much they matter (`priority`). */
  clarify?: (question: string, options: Option[], sections: string[]) => void;
  stage?: (stage: string) => void;
  ops?: (version: number, operations: Annotated[]) => void;
}

export interface Asking {
  result: Promise<Result>;
  cancel(): void;
}

/** What is longer than this is posted first, and followed by its name: an address has to fit. */
const LONGEST_QUERY = 6_000;

/** All that can be chosen: what is offered at first, and what is behind "Show more". */
const choosable = (asked: { options?: Option[]; moreOptions?: Option[] }) => [...(asked.options ?? []), ...(asked.moreOptions ?? [])];

export function ask(message: string, transcript: Said[] = [], mode = 'plan', clarify: Clarify | null = null, heard: Heard = {}): Asking {
  const query = new URLSearchParams({ message, transcript: JSON.stringify(transcript), mode });
  if (clarify) query.set('clarify', JSON.stringify(clarify));
  let source: EventSource | null = null;
  let cancelled = false;

  const options = { streamSummary: false, mode, ...(clarify ? { clarify } : {}) };
  const plainly = async (): Promise<Result> => {
    const answered = await post<Result>('/assistant/message', { message, transcript, options });
    if (answered.requiresClarification && typeof answered.question === 'string') {
      heard.clarify?.(answered.question, choosable(answered), answered.sections ?? []);
    }
    return { ...answered, text: answered.text ?? '', operations: answered.operations ?? [] };
  };

  const result = new Promise<Result>((resolve, reject) => {
    // The code is documented; the cause says what is wrong.
    const fail = (cause: unknown) => reject(new Error('sse_error', { cause }));
    const fallBack = () => plainly().then(resolve, fail);
    let last: Result | null = null;
    /** An event that cannot be read is passed over; the stream goes on. */
    const on = (name: string, act: (data: never) => void) =>
      source?.addEventListener(name, (event) => {
        try {
          act(JSON.parse((event as MessageEvent<string>).data) as never);
        } catch {
          return;
        }
      });
    const listen = (query: URLSearchParams) => {
      try {
        source = new EventSource(`/api/assistant/message/stream?${query}`);
      } catch {
        plainly().then(resolve, reject);
        return;
      }
      hear();
    };
    const hear = () => {
      on('stage', (data: { stage: string }) => heard.stage?.(data.stage));
      on('clarify', (data: { question: string; options?: Option[]; moreOptions?: Option[]; sections?: string[] }) => {
        if (data.question) heard.clarify?.(data.question, choosable(data), data.sections ?? []);
      });
      on('summary', (data: { text: string }) => {
        if (data.text) heard.summary?.(data.text);
      });
      on('ops', (data: { version: number; operations: Annotated[] }) => heard.ops?.(data.version, data.operations));
      on('result', (data: Result) => (last = data));
      source?.addEventListener('done', () => {
        source?.close();
        resolve(last ?? { text: '', operations: [] });
      });
      source?.addEventListener('error', () => {
        source?.close();
        if (!cancelled) void fallBack();
      });
    };
    if (query.toString().length <= LONGEST_QUERY) return listen(query);
    const begun = post<{ job: string }>('/assistant/jobs', { message, transcript, options });
    begun.then(({ job }) => !cancelled && listen(new URLSearchParams({ job })), fail);
  });
  return {
    result,
    cancel() {
      cancelled = true;
      source?.close();
    },
  };
}

/** What stays ticked when a newer version of a list arrives: what was, by operation and task. Whether an operation is wanted
    that could not be ticked nobody has said: once it is repaired, it is ticked like any other. */
export function reconciled(before: { of: Annotated[]; ticked: boolean[] }, after: Annotated[]): boolean[] {
  const key = (one: Annotated) => `${one.op.op} ${one.op.id ?? `“${one.op.title ?? ''}”`}`;
  const known = new Map(before.of.flatMap((one, at) => (one.errors.length === 0 ? [[key(one), before.ticked[at] ?? false] as const] : [])));
  return after.map((one) => one.errors.length === 0 && (known.get(key(one)) ?? true));
}

/** What came of one operation. */
export interface OperationOutcome {
  ok: boolean;
  op: Operation;
  error?: string | null;
}

const reasons: Record<string, string> = {
  not_found: 'This task no longer exists.',
  not_repeating: 'This task does not repeat.',
  invalid_op: 'This operation is not valid.',
};

/** The operations that were not applied, each with its reason. */
export function failed(results: OperationOutcome[]): Annotated[] {
  return results.filter((one) => !one.ok).map(({ op, error }) => ({ op, errors: [reasons[error ?? ''] ?? error ?? 'It was not applied.'] }));
}

/** The tasks that an operation is about, by what they have in common. */
function condition(where: Record<string, unknown>): string {
  const parts = Object.entries(where).map(([name, to]) => {
    if (name === 'ids' && Array.isArray(to)) return list(to.map((id) => `#${id}`));
    const { from, to: until } = (name === 'scheduled_range' ? to : {}) as { from?: string; to?: string };
    return from || until ? `when: ${day(from ?? '…', '')} to ${day(until ?? '…', '')}` : given({ [name]: to }).trim().slice(1, -1);
  });
  return parts.join('; ');
}

/** An operation in a line. */
export function inWords(op: Operation, titles: Map<number, string>): string {
  const { op: _, id, title, completed: __, where, set, ...fields } = op;
  // An update can change the title, too.
  const isNamed = id !== undefined;
  const known = isNamed ? titles.get(id) : title;
  const name = known ? `“${known}”` : isNamed ? `#${id}` : '';
  const changed = { ...(isNamed && title !== undefined && title !== known ? { title } : {}), ...fields, ...((set ?? {}) as Record<string, unknown>) };
  const which = where ? condition(where as Record<string, unknown>) : '';
  return [action(op), name, which && `with ${which}`, given(changed).trim()].filter(Boolean).join(' ');
}
