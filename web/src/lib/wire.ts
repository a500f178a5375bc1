// What the server sends, by the names that the page uses. The types are those of the server's own description
// (`openapi.json`); `npm run types` reads them from there.

import type { components } from '../../generated/wire';

type Schemas = components['schemas'];
type Described = Schemas['Event'];
type Opened = Extract<Described, { type: 'checkpoint.opened' }>;
/** The fields of a union of types: each is there in some of them. */
type Fields<Union> = { [Name in Union extends unknown ? keyof Union : never]?: Union extends unknown ? (Name extends keyof Union ? Union[Name] : never) : never };
type Shared = 'type' | 'seq' | 'time' | 'session' | 'request' | 'checkpoint' | 'kind' | 'title' | 'choices';
/** Questions about sub-tasks. They have fields of the same names as other questions that mean something else. */
export type SubtaskAsk = Extract<Opened, { about: 'breakdown' | 'subtaskPlan' | 'subtaskFailed' | 'mergeConflict' | 'mergeBlocked' }>;
/** What questions ask about, whichever kind they are: `about` names the kind, the others are there where it has them. */
export type Ask = Omit<Fields<Exclude<Opened, SubtaskAsk>>, Shared | 'about'> & { about?: Opened['about'] };
export type Event = Exclude<Described, Opened> | (Pick<Opened, Shared> & Ask);

export type Answer = Schemas['Answer'];
export type ChangedFile = Schemas['ChangedFile'];
export type Choice = Schemas['Choice'];
export type Conflict = Schemas['Conflict'];
export type ExecutionOrder = Schemas['ExecutionOrder'];
export type ImageRef = Schemas['ImageRef'];
export type PlanStep = Schemas['PlanStep'];
export type Series = Omit<Schemas['commands'], 'type'>;
export type Status = Schemas['Status'];
export type SubtaskStatus = Schemas['SubtaskStatus'];
export type LeftBehind = Schemas['LeftBehind'];
export type Todo = Schemas['Todo'];
export type Usage = Schemas['Usage'];
export type DoneFacts = Schemas['DoneFacts'];
export type Problem = Schemas['Problem'];
/** A picture on its way to a session. */
export type Picture = Schemas['Picture'];
export type SessionRow = Schemas['SessionInfo'];
/** What a route gives. */
export type Given<Name extends keyof Schemas> = Schemas[Name];
export type Question = Schemas['Question'];
