// What the server sends. Fields that the page does not read are left out.

export interface Problem {
  kind?: string;
  code?: string;
  message: string;
  hint?: string;
}
export interface Usage {
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  costUsd?: number;
  estimated?: boolean;
}
export interface Choice {
  id: string;
  label: string;
}
export interface Todo {
  text: string;
  completed: boolean;
}
export interface NextStep {
  html: string;
  inputText: string;
}
export interface CodeBlock {
  language: string;
  code: string;
}
export interface Section {
  heading: string;
  content: string;
  codeBlocks: CodeBlock[];
}
export interface FileChange {
  path: string;
  content?: string;
  diff?: string;
  delete?: boolean;
}
export interface Answer {
  summary: string;
  sections: Section[];
  todos: Todo[];
  fileChanges: FileChange[];
  commands: { command: string; description: string }[];
  nextSteps: NextStep[];
  truncated?: boolean;
  blocked?: boolean;
  recovered?: string[];
}
export interface ChangedFile {
  path: string;
  added: number;
  removed: number;
  modified?: number;
  isNew: boolean;
  isDeleted: boolean;
}
export interface PlanStep {
  id: string;
  title: string;
  details?: string;
  files?: string[];
  commands?: string[];
  dependsOn?: string[];
  estimate?: string;
}
export interface Question {
  id: string;
  text: string;
  options?: { id: string; title: string; scheduledFor?: string | null }[];
  several?: boolean;
}
export interface Series {
  state: 'offered' | 'running' | 'judging' | 'paused' | 'done' | 'left' | 'unknown';
  total: number;
  done: number;
  ok: number;
  failed: number;
  percent: number;
  results: { command: string; ok: boolean; preview: string }[];
  current?: { call: string; command: string };
  remaining: string[];
  progress?: string;
  reason?: string;
}
export interface ImageRef {
  ref: string;
  mediaType: string;
}
export interface Conflict {
  path: string;
  reason: string;
  firstLine?: number;
  base?: string;
  mine?: string;
  wanted?: string;
}
/** A picture on its way to a session. */
export interface Picture {
  mediaType: string;
  data: string;
}
export type Status = 'completed' | 'failed' | 'cancelled' | 'needs_user' | 'limit';
export type Part =
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }
  | { type: 'redacted_thinking' | 'image' | 'tool_result' };

interface Envelope {
  seq?: number;
  time: string;
  session: string;
  request?: string;
}
type Facts =
  | { type: 'session.opened'; folder: string; parentSessionId?: string }
  | { type: 'session.titled'; title: string }
  | { type: 'session.inherited'; from: string; text: string; prefill?: string }
  | { type: 'session.handoff'; child: string; prefill?: string }
  | { type: 'session.refused'; reason: string }
  | { type: 'request.received'; text: string; images: ImageRef[]; mode: string; tags?: string[]; settings?: Settings }
  | { type: 'request.joined'; text: string; into: string }
  | { type: 'request.steered'; text: string; by: string }
  | { type: 'request.stopping' | 'request.pausing' | 'request.resumed' | 'request.reopened' | 'request.assessing' }
  | { type: 'stage'; stage: string; label: string }
  | { type: 'route'; decision: string; confidence: number; complexity: number; reason: string }
  | { type: 'intent'; intent: string; phrase?: string; accepted: boolean }
  | { type: 'plan.proposed'; version: number; summary: string; steps: PlanStep[]; by: string }
  | { type: 'plan.started'; version: number }
  | { type: 'plan.step'; step: string; number: number; of: number; title: string; status: string; note?: string }
  | ({ type: 'checkpoint.opened'; checkpoint: string; kind: string; title: string; choices: Choice[] } & Body)
  | { type: 'checkpoint.resolved'; checkpoint: string; choice: string; text?: string; by: string }
  | { type: 'model.called'; call: string; model: string; attempt: number; purpose?: string }
  | { type: 'model.failed'; call: string; error: Problem; retryInMs?: number }
  | { type: 'reply.delta'; call: string; text: string }
  | { type: 'reply.saved'; call: string; message: { parts: Part[] }; partial?: boolean; stopReason?: string }
  | { type: 'tool.started'; call: string; name: string; input: Record<string, unknown> }
  | { type: 'tool.stopping'; call: string }
  | { type: 'tool.finished'; call: string; status: string; preview: string; ref?: string; images?: ImageRef[] }
  | { type: 'command.started'; call?: string; command: string; cwd: string }
  | { type: 'command.output'; call?: string; text: string }
  | {
      type: 'command.finished';
      call?: string;
      command: string;
      exitCode?: number;
      signal?: string;
      timedOut: boolean;
      durationMs?: number;
      preview: string;
      ref?: string;
    }
  | ({ type: 'commands' } & Series)
  | {
      type: 'proposal.opened';
      proposal: string;
      kind: string;
      call?: string;
      operations: Record<string, unknown>[];
      version: number;
    }
  | { type: 'proposal.resolved'; proposal: string; verdict: string }
  | {
      type: 'change.applied' | 'change.reverted' | 'change.reapplied' | 'change.inherited';
      changeSet: string;
      files: ChangedFile[];
      position: number;
      by?: { command: string; call: string };
    }
  | { type: 'change.refused'; reason: string; conflicts?: Conflict[] }
  | { type: 'steps'; todos: Todo[] }
  | { type: 'context.loaded'; files?: { path: string }[]; missing?: string[] }
  | { type: 'context.compressed'; before: number; after: number; ref: string; summary: string }
  | { type: 'context.full'; limit: string; used: number; of: number }
  | ({ type: 'usage'; model: string; contextTokens?: number; contextWindow?: number } & Usage)
  | ({ type: 'answer' } & Answer)
  | { type: 'bug'; kind: string; by: string; message: string }
  | { type: 'banner'; level: string; text: string }
  | { type: 'request.finished'; status: Status; error?: Problem; usage: Usage; reason?: string };

export type Event = Envelope & Facts;

export interface Settings {
  model?: string;
  budgetUsd?: number;
  facts?: { tools?: boolean };
}

/** What a question adds to its kind. */
export interface Body {
  about?: string;
  call?: string;
  tool?: string;
  input?: Record<string, unknown>;
  reason?: string;
  rule?: unknown;
  ruleText?: string;
  fingerprint?: string;
  editedFrom?: string;
  plan?: { cwd?: string; sandbox?: string; argv?: string[]; terminal?: unknown };
  proposal?: string;
  command?: string;
  commands?: { command: string; shown: string; decision: string; reason: string }[];
  remaining?: string[];
  timeoutS?: number;
  questions?: Question[];
  requirements?: { summary?: string; requirements?: string[]; decisions?: string[]; open?: string[] };
  version?: number;
  summary?: string;
  steps?: PlanStep[];
  assumptions?: string[];
  number?: number;
  of?: number;
  details?: string;
  result?: string;
  blockedChanges?: number;
  budgetUsd?: number;
  spentUsd?: number;
  nextCallUsd?: number;
}

export interface SessionRow {
  id: string;
  folder: string;
  title: string;
  created: string;
  updated: string;
  parent?: string;
  tags?: string[];
}
