// What the settings mean for the person.

import { levelNamed, type Autonomy } from './options';
import type { Given } from './wire';

type Setting = Given<'Setting'>;

/** A value as TOML writes it, without its quotes. */
export const bare = (value: string): string => value.replace(/^"(.*)"$/, '$1');

const valueOf = (settings: Setting[], name: string): string => bare(settings.find((one) => one.setting === name)?.value ?? '');

/** The level that sessions begin with. */
export const autonomy = (settings: Setting[]): Autonomy => levelNamed(valueOf(settings, 'autonomy')) ?? 'standard';

/** The switches that most people look for, by what they decide. */
export const SWITCHES: [string, string[]][] = [
  ['Permissions', ['autonomy', 'apply.auto', 'apply.files', 'apply.commands', 'commands.sandbox']],
  ['Copilot', ['copilot.flow', 'copilot.approval_mode', 'copilot.pace', 'copilot.auto_continue', 'copilot.synthesis', 'copilot.intelligent_routing']],
  ['Model', ['model', 'models.fast', 'effort', 'limits.budget_usd']],
];

/** The lines that a setting has in the settings file. */
export function inFile({ setting, value }: Pick<Setting, 'setting' | 'value'>): string {
  const at = setting.lastIndexOf('.');
  return at < 0 ? `${setting} = ${value}` : `[${setting.slice(0, at)}]\n${setting.slice(at + 1)} = ${value}`;
}
