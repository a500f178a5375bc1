// What a tool does, in a line for people.

import { plural, shorten } from './format';
import { around, lines } from './permission';
import { visible } from './visible';

/** What a model gave a tool, whatever it is. */
export function fields(input: unknown): Record<string, unknown> {
  return input !== null && typeof input === 'object' && !Array.isArray(input) ? (input as Record<string, unknown>) : {};
}

const says: Record<string, (input: Record<string, unknown>) => string> = {
  read_file: (input) => `Read ${input['path']}`,
  list_files: (input) => `List ${input['path'] ?? 'the folder'}`,
  find_files: (input) => `Find files like ${input['pattern']}`,
  search: (input) => `Search for “${input['pattern']}”`,
  edit_file: (input) => `Edit ${input['path']}`,
  apply_diff: (input) => `Edit ${input['path']}`,
  write_file: (input) => `Write ${input['path']}`,
  delete_file: (input) => `Delete ${input['path']}`,
  move_file: (input) => `Move ${input['from']} to ${input['to']}`,
  run_command: (input) => `Run ${visible(String(input['command']), 'command')}`,
  check: (input) => `Check: ${visible(String(input['command']), 'command')}`,
  read_output: (input) => `Read the output of ${visible(String(input['id']), 'line')}`,
  stop_command: (input) => `Stop ${visible(String(input['id']), 'line')}`,
  fetch_url: (input) => `Fetch ${input['url']}`,
  web_search: (input) => `Search the web for “${input['query']}”`,
  read_ref: () => 'Read a stored text',
  use_skill: (input) => `Load the skill ${input['name']}`,
  find_tool: (input) => `Find tools for “${input['query']}”`,
  set_steps: () => 'Update the steps',
  ask_user: () => 'Ask you',
  propose_plan: () => 'Propose a plan',
  delegate: (input) => (Array.isArray(input['tasks']) ? `Delegate ${plural(input['tasks'].length, 'sub-task')}` : 'Delegate sub-tasks'),
  read_shared: () => 'Read what the sub-tasks share',
  write_shared: () => 'Share with the other sub-tasks',
};

/** Tools that look and change nothing, and what many of them together are called. */
const looks: Record<string, (count: number) => string> = {
  read_file: (count) => `read ${plural(count, 'file')}`,
  list_files: (count) => `listed ${plural(count, 'folder')}`,
  find_files: (count) => `looked for files ${times(count)}`,
  search: (count) => `searched ${times(count)}`,
  fetch_url: (count) => `fetched ${plural(count, 'page')}`,
  web_search: (count) => `searched the web ${times(count)}`,
  read_ref: (count) => `read ${plural(count, 'stored text')}`,
  use_skill: (count) => `loaded ${plural(count, 'skill')}`,
};
const times = (count: number) => (count === 1 ? 'once' : `${count} times`);
export const isLook = (name: string) => name in looks;

/** What many looks came to, in a line. */
export function together(names: string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const words = [...counts].map(([name, count]) => looks[name]?.(count) ?? name).join(', ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The rule that a result names, if a rule of the person has refused the call. */
function forbiddingRule(result: string): string | undefined {
  const [before, after] = around(lines.forbidden);
  const start = [before, lines.forbiddenBefore].find((start) => result.startsWith(start));
  if (start === undefined) return undefined;
  const rest = result.slice(start.length);
  const end = rest.lastIndexOf(after);
  return end < 0 ? rest : rest.slice(0, end);
}

/** A tool's result as a person reads it: what is written for the model stays with it. `results.json` has rows. */
export function resultForPerson(result: string): string {
  const preview = result.replace(/^Check (?:passed|failed|not run|stopped): `[^\n]*`(?:\n|$)/, '');
  if (preview.startsWith('[Request interrupted by user for tool use]')) return 'You stopped it.';
  const rule = forbiddingRule(preview);
  if (rule !== undefined) return `Blocked by your rule: ${rule}`;
  if (preview.startsWith(lines.planMode)) return 'Plan mode: nothing is changed or run.';
  if (preview.startsWith(lines.denied)) return `You denied it.${preview.slice(lines.denied.length).replace('They say:', 'You said:')}`;
  return preview.replace(/\n?\[Full result saved as ref:[^\]]*\]\s*$/, '');
}

export function title(name: string, input: unknown): string {
  const words = says[name]?.(fields(input)) ?? `${name.replaceAll('_', ' ')} ${input ? JSON.stringify(input) : ''}`;
  return shorten(words, 160);
}
