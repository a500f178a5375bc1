// A session as it is shown: a fold over its events, and nothing else. What is unknown is left out.

import { inWords } from './structured';
import { hang, type MadeImage } from './gallery';
import type {
  Answer,
  Ask,
  ChangedFile,
  Choice,
  Conflict,
  Event,
  Given,
  ImageRef,
  PlanStep,
  Problem,
  Series,
  Status,
  Todo,
  Usage,
} from './wire';
import { fields } from './tools';

export interface Checkpoint extends Ask {
  kind: string;
  checkpoint: string;
  request: string;
  title: string;
  choices: Choice[];
  time: string;
  resolved?: { choice: string; text?: string; by: string };
}
export interface Run {
  command: string;
  cwd?: string;
  output: string;
  exitCode?: number;
  signal?: string;
  timedOut?: boolean;
  durationMs?: number;
  finished: boolean;
  ref?: string;
}
export type Item =
  /** `words`: what an earlier answer of the turn said, where its text is not for people. */
  | { is: 'said'; call: string; text: string; thinking: string; live: boolean; words?: string }
  | {
      is: 'tool';
      call: string;
      name: string;
      input: Record<string, unknown>;
      status?: string;
      preview?: string;
      ref?: string;
      images?: ImageRef[];
      run?: Run;
      stopping?: boolean;
    }
  | { is: 'change'; changeSet: string; files: ChangedFile[]; command?: string; undone: boolean }
  | { is: 'checkpoint'; checkpoint: string }
  | { is: 'plan'; version: number; summary: string; steps: PlanStep[]; by: string }
  | { is: 'steered'; text: string; by: string }
  | { is: 'banner'; level: string; text: string }
  | { is: 'retry'; error: Problem; retryInMs?: number }
  | { is: 'context'; text: string; detail?: string; link?: 'memory' }
  | { is: 'commands'; series: Series };

export interface Turn {
  id: string;
  text: string;
  time: string;
  mode: string;
  tags: string[];
  images: ImageRef[];
  /** The model answers in one JSON text; its words are not for people until they are read. */
  structured: boolean;
  items: Item[];
  thoughts: string[];
  stage: string;
  /** What its words ask for beyond words, and whether that was begun. */
  intent?: { intent: string; phrase?: string; accepted: boolean };
  answer?: Answer;
  /** The call whose reply it was. */
  answeredBy?: string;
  bugs: { kind: string; message: string }[];
  status?: Status;
  reason?: string;
  error?: Problem;
  usage?: Usage;
  finished?: string;
  stopping: boolean;
  pausing: boolean;
  /** Work can be paused, unless that is switched off. */
  pausable: boolean;
  /** It is only talked about, and could be carried out. */
  talks: boolean;
  /** Talk comes first by a setting. */
  talksFirst: boolean;
  step?: { number: number; of: number; title: string };
}
export interface ChangeSet {
  changeSet: string;
  files: ChangedFile[];
  position: number;
  command?: string;
  request?: string;
  time: string;
  /** What was spent for it, as far as that is known. */
  costUsd?: number;
  undone: boolean;
  /** What its files were is not kept any more. */
  expired?: boolean;
}
/** A part of the work that is done by itself. */
export interface Subtask {
  subtask: string;
  status: string;
  progress: number;
  dependsOn: string[];
  model: string;
}
export interface Proposal {
  proposal: string;
  kind: string;
  operations: Record<string, unknown>[];
  version: number;
  verdict?: string;
}
export interface View {
  id: string;
  seq: number;
  folder: string;
  title: string;
  parent?: string;
  child?: string;
  prefill?: string;
  turns: Turn[];
  checkpoints: Record<string, Checkpoint>;
  /** In the order in which they were opened. */
  open: string[];
  proposals: Record<string, Proposal>;
  plan: { version: number; steps: PlanStep[]; status: Record<string, string>; started: boolean } | null;
  subtasks: Subtask[];
  todos: Todo[];
  series: Series | null;
  changes: ChangeSet[];
  position: number;
  refusal: { reason: string; conflicts: Conflict[] } | null;
  usage: { inputTokens: number; cachedTokens: number; outputTokens: number; costUsd: number; estimated: boolean };
  /** How much of it the changes so far account for. */
  billedUsd: number;
  model: string;
  budgetUsd: number;
  context: { tokens: number; window: number } | null;
  full: { limit: string; used: number; of: number } | null;
  /** Calls behind the scenes: their words are not part of the conversation. */
  aside: Record<string, string>;
  /** Pictures that were made, in the order of their places. */
  gallery: MadeImage[];
}

export function empty(id: string): View {
  return {
    id,
    seq: 0,
    folder: '',
    title: '',
    turns: [],
    checkpoints: {},
    open: [],
    proposals: {},
    plan: null,
    subtasks: [],
    todos: [],
    series: null,
    changes: [],
    position: -1,
    refusal: null,
    usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, costUsd: 0, estimated: false },
    billedUsd: 0,
    model: '',
    budgetUsd: 0,
    context: null,
    full: null,
    aside: {},
    gallery: [],
  };
}

/** A file, or some places in it, in words. */
function part({ path, hunks }: Given<'ChangePart'>): string {
  return hunks?.length ? `${hunks.length > 1 ? 'parts' : 'part'} ${hunks.join(', ')} of ${path}` : path;
}

/** The longest piece of a command's live output that is kept; all of it is behind its `ref`. */
const LIVE_OUTPUT = 64 * 1024;

/**
 * The view after these events. Parts that changed are new objects, all others the same as before, so that
 * what is on the screen is only drawn again where something happened.
 */
export function fold(before: View, events: Event[]): View {
  const view: View = { ...before, turns: [...before.turns] };
  const places = new Map(view.turns.map((turn, at) => [turn.id, at]));
  const own = new Set<string>();
  // Each is copied once, however many events change it: copies of copies would make a long session slow.
  const copied = new Set<string>();
  const copy = <K extends 'checkpoints' | 'proposals' | 'aside'>(which: K): View[K] => {
    if (!copied.has(which)) view[which] = { ...view[which] };
    copied.add(which);
    return view[which];
  };

  const turn = (id: string | undefined): Turn | undefined => {
    const at = id === undefined ? undefined : places.get(id);
    if (at === undefined) return undefined;
    const known = view.turns[at] as Turn;
    if (own.has(known.id)) return known;
    own.add(known.id);
    const fresh = { ...known, items: [...known.items], thoughts: [...known.thoughts] };
    view.turns[at] = fresh;
    return fresh;
  };
  const add = (id: string | undefined, item: Item) => turn(id)?.items.push(item);
  /** Puts a new object in an item's place. */
  const change = <K extends Item['is']>(
    id: string | undefined,
    is: K,
    matches: (item: Extract<Item, { is: K }>) => boolean,
    to: (item: Extract<Item, { is: K }>) => Item,
  ): boolean => {
    const found = turn(id);
    if (!found) return false;
    for (let at = found.items.length - 1; at >= 0; at--) {
      const item = found.items[at] as Item;
      if (item.is === is && matches(item as Extract<Item, { is: K }>)) {
        found.items[at] = to(item as Extract<Item, { is: K }>);
        return true;
      }
    }
    return false;
  };
  const note = (id: string | undefined, label: string) => {
    const found = turn(id);
    if (found && found.thoughts.at(-1) !== label) found.thoughts.push(label);
  };

  for (const event of events) {
    if (event.seq !== undefined) {
      if (event.seq <= view.seq) continue;
      view.seq = event.seq;
    }
    const id = event.request;
    switch (event.type) {
      case 'session.opened':
        view.folder = event.folder;
        view.parent = event.parentSessionId;
        break;
      case 'session.titled':
        view.title = event.title;
        break;
      case 'session.inherited':
        view.parent = event.from;
        view.prefill = event.prefill;
        break;
      case 'session.handoff':
        view.child = event.child;
        view.full = null;
        break;
      case 'session.reclaimed':
        if (view.child === event.child) view.child = undefined;
        break;
      case 'session.extended':
        view.full = null;
        break;
      case 'session.refused':
        add(view.turns.at(-1)?.id, { is: 'banner', level: 'warning', text: event.reason });
        break;
      case 'request.received': {
        if (!id || places.has(id)) break;
        places.set(id, view.turns.length);
        own.add(id);
        const copilot = event.settings?.copilot;
        const transition = copilot?.allow_execution_transition !== false;
        view.turns.push({
          id,
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
        view.todos = [];
        view.series = null;
        view.plan = null;
        view.subtasks = [];
        view.full = null;
        if (event.settings?.model) view.model = event.settings.model;
        view.budgetUsd = event.settings?.budgetUsd ?? 0;
        break;
      }
      case 'request.joined':
        add(event.into, { is: 'steered', text: event.text, by: 'user' });
        break;
      case 'request.steered':
        if (event.by !== 'engine') add(id, { is: 'steered', text: event.text, by: event.by });
        break;
      case 'request.stopping': {
        const found = turn(id);
        if (found) found.stopping = true;
        break;
      }
      case 'request.pausing': {
        const found = turn(id);
        if (found) found.pausing = true;
        break;
      }
      case 'request.resumed':
      case 'request.reopened': {
        const found = turn(id);
        if (!found) break;
        found.pausing = false;
        found.status = undefined;
        found.finished = undefined;
        break;
      }
      case 'stage': {
        const found = turn(id);
        if (found) found.stage = event.stage;
        note(id, event.label);
        break;
      }
      case 'route': {
        const found = turn(id);
        if (found?.talksFirst) found.talks = event.decision === 'chat';
        break;
      }
      case 'intent': {
        const found = turn(id);
        if (found) found.intent = { intent: event.intent, phrase: event.phrase, accepted: event.accepted };
        break;
      }
      case 'plan.proposed':
        view.plan = { version: event.version, steps: event.steps, status: {}, started: false };
        add(id, { is: 'plan', version: event.version, summary: event.summary, steps: event.steps, by: event.by });
        break;
      case 'plan.started':
        if (view.plan) view.plan = { ...view.plan, started: true };
        break;
      case 'subtask': {
        const { subtask, status, progress, dependsOn, model } = event;
        const known = view.subtasks.some((one) => one.subtask === subtask);
        const fresh = { subtask, status, progress, dependsOn, model };
        view.subtasks = known ? view.subtasks.map((one) => (one.subtask === subtask ? fresh : one)) : [...view.subtasks, fresh];
        break;
      }
      case 'plan.step': {
        if (view.plan) view.plan = { ...view.plan, status: { ...view.plan.status, [event.step]: event.status } };
        const found = turn(id);
        if (found) found.step = { number: event.number, of: event.of, title: event.title };
        break;
      }
      case 'checkpoint.opened': {
        const { seq: _seq, session: _session, type: _type, ...rest } = event;
        const opened: Checkpoint = { ...rest, request: id ?? '' };
        copy('checkpoints')[event.checkpoint] = opened;
        view.open = [...view.open.filter((one) => one !== event.checkpoint), event.checkpoint];
        add(id, { is: 'checkpoint', checkpoint: event.checkpoint });
        break;
      }
      case 'checkpoint.resolved': {
        const asked = view.checkpoints[event.checkpoint];
        const resolved = { choice: event.choice, text: event.text, by: event.by };
        if (asked) copy('checkpoints')[event.checkpoint] = { ...asked, resolved };
        view.open = view.open.filter((one) => one !== event.checkpoint);
        break;
      }
      case 'model.called': {
        if (event.purpose) copy('aside')[event.call] = event.purpose;
        const found = turn(id);
        if (found) found.items = found.items.filter((item) => item.is !== 'retry');
        break;
      }
      case 'model.failed':
        if (event.retryInMs !== undefined) add(id, { is: 'retry', error: event.error, retryInMs: event.retryInMs });
        break;
      case 'reply.delta': {
        if (event.call in view.aside) break;
        const grown = change(
          id,
          'said',
          (item) => item.call === event.call,
          (item) => ({ ...item, text: item.text + event.text, live: true }),
        );
        if (!grown) add(id, { is: 'said', call: event.call, text: event.text, thinking: '', live: true });
        break;
      }
      case 'reply.saved': {
        if (event.call in view.aside) break;
        let [text, thinking] = ['', ''];
        for (const part of event.message.parts) {
          if (part.type === 'text') text += part.text;
          if (part.type === 'thinking') thinking += part.text;
        }
        const live = event.partial === true;
        const known = change(
          id,
          'said',
          (item) => item.call === event.call,
          // While words still come, the ones on the screen may be ahead of those that are stored.
          (item) => ({ ...item, text: live && item.text.length > text.length ? item.text : text, thinking, live }),
        );
        if (!known && (text || thinking)) add(id, { is: 'said', call: event.call, text, thinking, live });
        break;
      }
      case 'tool.started':
        add(id, { is: 'tool', call: event.call, name: event.name, input: fields(event.input) });
        break;
      case 'tool.stopping':
        change(id, 'tool', (item) => item.call === event.call, (item) => ({ ...item, stopping: true }));
        break;
      case 'tool.finished': {
        const { status, preview, ref, images } = event;
        const end = (item: Extract<Item, { is: 'tool' }>): Item => ({ ...item, status, preview, ref, images });
        change(id, 'tool', (item) => item.call === event.call, end);
        break;
      }
      case 'command.started': {
        const run: Run = { command: event.command, cwd: event.cwd, output: '', finished: false };
        const known = change(id, 'tool', (item) => item.call === event.call, (item) => ({ ...item, run }));
        const [call, input] = [event.call ?? '', { command: event.command }];
        if (!known) add(id, { is: 'tool', call, name: 'run_command', input, run });
        break;
      }
      case 'command.output':
        change(
          id,
          'tool',
          (item) => item.run !== undefined && !item.run.finished && (event.call ?? item.call) === item.call,
          (item) => {
            const run = item.run as Run;
            return { ...item, run: { ...run, output: (run.output + event.text).slice(-LIVE_OUTPUT) } };
          },
        );
        break;
      case 'command.finished':
        change(
          id,
          'tool',
          (item) => item.run !== undefined && (event.call ?? item.call) === item.call,
          (item) => {
            const { exitCode, signal, timedOut, durationMs, preview, ref } = event;
            const run = { ...(item.run as Run), exitCode, signal, timedOut, durationMs, ref };
            return { ...item, run: { ...run, output: preview, finished: true } };
          },
        );
        break;
      case 'commands': {
        const { seq: _s, time: _t, session: _n, request: _r, type: _k, ...series } = event;
        view.series = series;
        const known = change(id, 'commands', () => true, () => ({ is: 'commands', series }));
        if (!known) add(id, { is: 'commands', series });
        break;
      }
      case 'proposal.opened': {
        const { proposal, kind, version } = event;
        const operations = event.operations.map(fields);
        copy('proposals')[proposal] = { proposal, kind, operations, version };
        break;
      }
      case 'proposal.chosen':
        add(id, { is: 'context', text: `You chose a part of it. Left out: ${event.left.map(part).join('; ')}` });
        break;
      case 'proposal.resolved': {
        const known = view.proposals[event.proposal];
        if (known) copy('proposals')[event.proposal] = { ...known, verdict: event.verdict };
        break;
      }
      case 'change.applied':
      case 'change.inherited': {
        const { changeSet, files, position, by } = event;
        // All files that one answer changes are one set, and are told of one by one.
        const begun = view.changes.find((one) => one.changeSet === changeSet);
        const earlier = view.changes.filter((one) => one.position < position && one !== begun);
        const spent = id === undefined ? 0 : view.usage.costUsd - view.billedUsd;
        if (id !== undefined) view.billedUsd = view.usage.costUsd;
        const costUsd = ('costUsd' in event ? event.costUsd : undefined) ?? (((begun?.costUsd ?? 0) + spent) || undefined);
        const all = begun ? [...begun.files, ...files] : files;
        const time = begun?.time ?? event.time;
        const set = { changeSet, files: all, position, command: by?.command, request: id, time, costUsd, undone: false };
        view.changes = [...earlier, set];
        view.position = position;
        view.refusal = null;
        if (event.type === 'change.applied') {
          add(id, { is: 'change', changeSet, files, command: by?.command, undone: false });
        }
        break;
      }
      case 'change.reverted':
      case 'change.reapplied': {
        const undone = event.type === 'change.reverted';
        const of = view.changes.find((one) => one.changeSet === event.changeSet);
        view.changes = view.changes.map((one) => (one === of ? { ...one, undone } : one));
        view.position = event.position;
        view.refusal = null;
        const mark = () => change(of?.request, 'change', (item) => item.changeSet === event.changeSet && item.undone !== undone, (item) => ({ ...item, undone }));
        while (mark());
        break;
      }
      case 'change.expired': {
        const gone = new Set(event.changeSets);
        view.changes = view.changes.map((one) => (gone.has(one.changeSet) ? { ...one, expired: true } : one));
        break;
      }
      case 'change.refused':
        view.refusal = { reason: event.reason, conflicts: event.conflicts ?? [] };
        break;
      case 'steps':
        view.todos = event.todos;
        break;
      case 'context.loaded': {
        const files = event.files ?? [];
        if (files.length) {
          const text = `📂 Loaded ${files.length} file${files.length === 1 ? '' : 's'}`;
          add(id, { is: 'context', text, detail: files.map((file) => file.path).join(', ') });
        }
        break;
      }
      case 'memory.noted': {
        const noted = event.entries.map((entry) => `“${entry.text}”`).join(', ');
        add(id, { is: 'context', text: `Remembered for later sessions: ${noted}`, link: 'memory' });
        break;
      }
      case 'memory.recalled': {
        const all = event.entries.length;
        const text = all
          ? `The model is told ${all === 1 ? 'a thing' : `${all} things`} that you said earlier`
          : 'The model is no longer told anything that you said earlier';
        const detail = event.entries.map((entry) => entry.text).join('\n');
        add(id, { is: 'context', text, ...(detail ? { detail } : {}), link: 'memory' });
        break;
      }
      case 'context.compressed': {
        const text = `Older turns were summed up: ${event.before} tokens became ${event.after}`;
        add(id, { is: 'context', text, detail: event.summary });
        break;
      }
      case 'context.full':
        view.full = { limit: event.limit, used: event.used, of: event.of };
        break;
      case 'image.made':
      case 'image.failed':
      case 'image.selected':
        view.gallery = hang(view.gallery, event, id);
        break;
      case 'usage': {
        const all = view.usage;
        view.usage = {
          inputTokens: all.inputTokens + event.inputTokens,
          cachedTokens: all.cachedTokens + event.cachedTokens,
          outputTokens: all.outputTokens + event.outputTokens,
          costUsd: all.costUsd + (event.costUsd ?? 0),
          estimated: all.estimated || event.estimated === true,
        };
        if (event.contextTokens !== undefined && event.contextWindow) {
          view.context = { tokens: event.contextTokens, window: event.contextWindow };
        }
        break;
      }
      case 'answer': {
        const found = turn(id);
        if (!found) break;
        // An answer that another one follows stays where it was said.
        const earlier = found.structured ? found.answer : undefined;
        if (earlier) change(id, 'said', (item) => item.call === found.answeredBy, (item) => ({ ...item, words: inWords(earlier) }));
        const last = found.items.findLast((item) => item.is === 'said');
        found.answeredBy = last?.is === 'said' ? last.call : undefined;
        found.answer = event;
        break;
      }
      case 'bug': {
        const found = turn(id);
        if (found) found.bugs = [...found.bugs, { kind: event.kind, message: event.message }];
        break;
      }
      case 'banner': {
        // Lines that belong together come one after the other.
        const about = id ?? view.turns.at(-1)?.id;
        const last = turn(about)?.items.at(-1);
        if (last?.is === 'banner' && last.level === event.level) {
          turn(about)?.items.splice(-1, 1, { ...last, text: `${last.text}\n${event.text}` });
        } else {
          add(about, { is: 'banner', level: event.level, text: event.text });
        }
        break;
      }
      case 'request.finished': {
        const found = turn(id);
        if (!found) break;
        const { status, error, usage, reason } = event;
        Object.assign(found, { status, error, usage, reason, finished: event.time, stopping: false, pausing: false });
        found.items = found.items.map((item) => (item.is === 'said' && item.live ? { ...item, live: false } : item));
        break;
      }
    }
  }
  return view;
}

/** The request that is worked on or waits, if there is one. */
export function running(view: View): Turn | undefined {
  return view.turns.find((turn) => turn.status === undefined);
}

/** Whether anything of a turn still wants a person: an open question about it. */
export function pending(view: View, turn: Turn): boolean {
  return view.open.some((id) => view.checkpoints[id]?.request === turn.id);
}
