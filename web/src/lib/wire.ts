// What the server sends, by the names that the page uses. The types are those of the server's own description
// (`openapi.json`); `npm run types` reads them from there.

import type { components } from '../../generated/wire';

type Schemas = components['schemas'];
type Described = Schemas['Event'];
type Opened = Extract<Described, { type: 'checkpoint.opened' }>;
/** The description leaves open what a question adds to its kind. */
export type Event = Exclude<Described, Opened> | (Pick<Opened, 'type' | 'seq' | 'time' | 'session' | 'request' | 'checkpoint' | 'kind' | 'title' | 'choices'> & Body);

export type Answer = Schemas['Answer'];
export type ChangedFile = Schemas['ChangedFile'];
export type Choice = Schemas['Choice'];
export type Conflict = Schemas['Conflict'];
export type ImageRef = Schemas['ImageRef'];
export type PlanStep = Schemas['PlanStep'];
export type Series = Omit<Schemas['commands'], 'type'>;
export type Status = Schemas['Status'];
export type Todo = Schemas['Todo'];
export type Usage = Schemas['Usage'];
export type Problem = Schemas['Problem'];
/** A picture on its way to a session. */
export type Picture = Schemas['Picture'];
export type SessionRow = Schemas['SessionInfo'];
/** What a route gives. */
export type Given<Name extends keyof Schemas> = Schemas[Name];

export interface Question {
  id: string;
  text: string;
  options?: { id: string; title: string; scheduledFor?: string | null }[];
  several?: boolean;
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
