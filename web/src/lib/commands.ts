// Commands that begin with a slash. The table is that of the terminal (`crates/surfaces/src/slash.rs`), which a test writes
// into `commands.json`.

import table from './commands.json';
import { EFFORTS, effortNamed, levelNamed, LEVELS, modeNamed, type MessageOptions, type Mode } from './options';

interface SlashRow {
  name: string;
  aliases: string[];
  /** Absent: it is for the terminal. */
  description?: string;
  takesText?: boolean;
}
const ROWS: SlashRow[] = table.commands;

/** What the message box offers. */
const SHOWN = ROWS.filter((one) => one.description);
export const OFFERED = [...SHOWN.map(({ name, description }) => ({ name, description })), ...SHOWN.flatMap((one) => one.aliases.map((alias) => ({ name: alias, description: `Same as /${one.name}` })))];

/** Pages that a command opens. */
export type CommandPage = 'home' | 'changes' | 'trace' | 'tasks' | 'memory' | 'settings' | 'usage';
const PAGES: Record<string, CommandPage> = { new: 'home', changes: 'changes', rewind: 'changes', trace: 'trace', tasks: 'tasks', memory: 'memory', config: 'settings', agents: 'settings', status: 'usage' };

export type TypedCommand =
  | { is: 'message' }
  /** It looks like a command and is none. */
  | { is: 'refused'; why: string }
  | { is: 'options'; set: Partial<MessageOptions> }
  | { is: 'page'; page: CommandPage }
  /** A request, in a mode of its own where one was named. */
  | { is: 'request'; text: string; mode?: Mode };

/** How many letters two words differ by. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}

function nearest(name: string): string {
  const near = OFFERED.map((one) => ({ name: one.name, by: edits(name, one.name) })).sort((a, b) => a.by - b.by)[0];
  return near && near.by <= 1 + near.name.length / 3 ? ` Did you mean /${near.name}?` : '';
}

/** What a typed `/effort LEVEL`, `/autonomy LEVEL`, or `/model NAME` sets; null: it is no such command; a sentence: it is not valid. */
export function typedOption(text: string): Partial<MessageOptions> | string | null {
  const [, name, value = ''] = /^\/(effort|model|autonomy)(?:\s+(\S*))?\s*$/.exec(text.trim()) ?? [];
  if (name === 'model') return value === '' || value.includes('/') ? { model: value } : 'Invalid model. Expected PROVIDER/NAME.';
  if (name === 'autonomy') {
    const autonomy = levelNamed(value);
    return autonomy ? { autonomy } : `Invalid autonomy. Expected ${LEVELS.join(', ')}.`;
  }
  if (name !== 'effort') return null;
  const effort = effortNamed(value || 'auto');
  return effort ? { effort } : `Invalid effort. Expected ${EFFORTS.join(', ')}.`;
}

/** What a text is that begins with a typed slash. `workflows` are called by their names. */
export function typedCommand(text: string, workflows: readonly string[]): TypedCommand {
  const [, typed = '', words = ''] = /^\/([A-Za-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  if (!typed || workflows.includes(typed)) return { is: 'message' };
  const name = typed.toLowerCase();
  const row = ROWS.find((one) => one.name === name || one.aliases.includes(name));
  if (!row) return { is: 'refused', why: `Unknown command /${typed}.${nearest(name)}` };
  if (!row.description) return { is: 'refused', why: `/${row.name} is not available here.` };
  if (words && !row.takesText) return { is: 'refused', why: `/${row.name} takes no text.` };
  const page = PAGES[row.name];
  if (page) return { is: 'page', page };
  const mode = modeNamed(row.name);
  if (mode) return words ? { is: 'request', text: words, mode } : { is: 'options', set: { mode } };
  if (row.name === 'init') return { is: 'request', text: table.requests.init };
  // The server knows it, as it knows workflows.
  if (row.name === 'review') return { is: 'message' };
  const option = typedOption(`/${row.name} ${words}`);
  return option === null || typeof option === 'string' ? { is: 'refused', why: option ?? `/${row.name} is not available here.` } : { is: 'options', set: option };
}
