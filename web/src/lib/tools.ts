// What a tool does, in a line for people.

import { shorten } from './format';

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
  run_command: (input) => `Run ${input['command']}`,
  fetch_url: (input) => `Fetch ${input['url']}`,
  read_ref: () => 'Read a stored text',
  set_steps: () => 'Note the steps',
  ask_user: () => 'Ask you',
  propose_plan: () => 'Propose a plan',
};

export function title(name: string, input: unknown): string {
  const words = says[name]?.(fields(input)) ?? `${name.replaceAll('_', ' ')} ${input ? JSON.stringify(input) : ''}`;
  return shorten(words, 160);
}
