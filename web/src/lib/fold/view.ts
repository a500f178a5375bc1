// A session as the page shows it.

import type { MadeImage } from '../gallery';
import type { Autonomy } from '../options';
import type { Answer, Ask, ChangedFile, Choice, Conflict, DoneFacts, ExecutionOrder, ImageRef, LeftBehind, PlanStep, Problem, Series, Status, SubtaskStatus, Todo, Usage } from '../wire';

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
  /** It continues in the background under this ID, so it has no exit code. */
  background?: string;
  ref?: string;
}
export type Item =
  /** `words`: what an earlier answer of the turn said, where its text is not for people. */
  /** `partial`: it broke off. */
  | { is: 'said'; call: string; text: string; thinking: string; live: boolean; partial?: boolean; words?: string }
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
  /** `via`: how a message came to the request while that was running. */
  | { is: 'steered'; text: string; by: string; via: 'joined' | 'answer' | 'steered' }
  | { is: 'banner'; level: string; text: string }
  | { is: 'retry'; error: Problem; retryInMs?: number }
  | { is: 'context'; text: string; detail?: string; link?: 'memory' }
  | { is: 'commands'; series: Series }
  /** `order`: how they run, once they do. */
  | { is: 'subtasks'; order?: ExecutionOrder; tasks: BoardTask[] };

export interface Turn {
  id: string;
  /** The number of its first event. */
  seq: number;
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
  /** What the model does while no words come. */
  doing?: string;
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
  /** What it did, as the log has it. */
  done?: DoneFacts;
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
/** A sub-task as it stands. */
export interface BoardTask {
  id: string;
  name: string;
  dependsOn: string[];
  model: string;
  status: SubtaskStatus;
  /** From 0 to 1. */
  progress: number;
  attempt: number;
  costUsd?: number;
  /** What all its attempts have spent. */
  usage?: Usage;
  /** The session of its worker. */
  worker?: string;
  error?: string;
  summary: string;
  /** Dollars that are set aside for its worker. */
  reservedUsd?: number;
  /** What its worker did in its copy that is not merged. */
  leftBehind?: LeftBehind;
  began?: string;
  ended?: string;
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
  /** It works on a sub-task of another session's request. */
  worksOn?: { parent: string; subtask: string };
  prefill?: string;
  turns: Turn[];
  checkpoints: Record<string, Checkpoint>;
  /** In the order in which they were opened. */
  open: string[];
  proposals: Record<string, Proposal>;
  plan: { version: number; steps: PlanStep[]; status: Record<string, string>; started: boolean } | null;
  todos: Todo[];
  series: Series | null;
  /** Commands that continue in the background. */
  background: BackgroundCommand[];
  changes: ChangeSet[];
  position: number;
  refusal: { reason: string; conflicts: Conflict[] } | null;
  usage: { inputTokens: number; cachedTokens: number; outputTokens: number; costUsd: number; estimated: boolean };
  /** How much of it the changes so far account for. */
  billedUsd: number;
  model: string;
  /** The level that was chosen in it, the one of the settings, and the most that its folder allows. */
  autonomy: { chosen?: Autonomy; settings?: Autonomy; limit?: Autonomy };
  budgetUsd: number;
  context: { tokens: number; window: number } | null;
  /** Tokens in a second, of the last reply that tells. */
  speed?: number;
  full: { limit: string; used: number; of: number } | null;
  /** The message that was passed on last, and where to: the running request tells it once more. */
  joined: { into: string; text: string } | null;
  /** Calls behind the scenes: their words are not part of the conversation. */
  aside: Record<string, string>;
  /** Pictures that were made, in the order of their places. */
  gallery: MadeImage[];
}

/** A command that continues in the background. */
export interface BackgroundCommand {
  id: string;
  call: string;
  command: string;
  name?: string;
  stopping?: boolean;
  ports: { port: number; reachable: boolean }[];
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
    todos: [],
    series: null,
    background: [],
    changes: [],
    position: -1,
    refusal: null,
    usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, costUsd: 0, estimated: false },
    billedUsd: 0,
    model: '',
    autonomy: {},
    budgetUsd: 0,
    context: null,
    full: null,
    joined: null,
    aside: {},
    gallery: [],
  };
}
