// Extensions by their kinds, in the order in which people look for them.

import type { Given } from './wire';

export type Extension = Given<'ExtensionInfo'>;

const KINDS: [string, string, string][] = [
  ['mcp', 'MCP servers', 'Servers that give the model more tools.'],
  ['skill', 'Skills', 'Instructions for one kind of work, which the model loads when it needs them.'],
  ['command', 'Commands', 'Command files that you call with /NAME.'],
  ['pill', 'Pills', 'Saved workflows that you call with /NAME.'],
  ['agent', 'Agents', 'Workers for sub-tasks, each with its own instructions.'],
  ['hook', 'Hooks', 'Programs that run at fixed points, such as before a tool call or after an edit.'],
  ['instructions', 'Instructions', 'Files that every request includes, such as AGENTS.md.'],
];

export interface ExtensionGroup {
  kind: string;
  name: string;
  purpose: string;
  list: Extension[];
}

const nameOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1);

/** Each known kind, also without entries, and kinds that this page does not know. What needs the person comes first. */
export function extensionGroups(all: readonly Extension[]): ExtensionGroup[] {
  const weight = (one: Extension) => ['pending', 'login', 'loaded', 'ignored'].indexOf(one.state);
  const of = (kind: string) => all.filter((one) => one.kind === kind).sort((a, b) => weight(a) - weight(b) || a.name.localeCompare(b.name));
  const known = KINDS.map(([kind, name, purpose]) => ({ kind, name, purpose, list: of(kind) }));
  const others = [...new Set(all.map((one) => one.kind))].filter((kind) => !KINDS.some(([name]) => name === kind));
  return [...known, ...others.map((kind) => ({ kind, name: nameOf(kind), purpose: '', list: of(kind) }))];
}

/** A state as a chip shows it: its words and its color. */
export const stateOf = (state: string): [string, string] => (state === 'loaded' ? ['Loaded', 'works'] : state === 'pending' ? ['Pending', 'waits'] : state === 'login' ? ['Login needed', 'waits'] : state === 'ignored' ? ['Ignored', ''] : [state, '']);
