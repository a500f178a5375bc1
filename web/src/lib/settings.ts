// What the settings mean for the person.

import type { Given } from './wire';

type Setting = Given<'Setting'>;

/** A value as TOML writes it, without its quotes. */
export const bare = (value: string): string => value.replace(/^"(.*)"$/, '$1');

const valueOf = (settings: Setting[], name: string): string => bare(settings.find((one) => one.setting === name)?.value ?? '');

/** What Trimtab asks before it does, in a few words. */
export function autonomy(settings: Setting[]): string {
  const all = valueOf(settings, 'apply.auto') === 'false';
  const [files, commands] = [all || valueOf(settings, 'apply.files') === 'ask', all || valueOf(settings, 'apply.commands') === 'ask'];
  if (files && commands) return 'Asks before all edits and commands';
  if (files) return 'Asks before edits';
  return commands ? 'Asks before commands' : 'Asks little';
}
