// What the settings mean for the person.

import { levelNamed, type Autonomy } from './options';
import type { Given } from './wire';

export type Setting = Given<'Setting'>;

/** A value as TOML writes it, without its quotes. */
export const bare = (value: string): string => value.replace(/^"(.*)"$/, '$1');

const valueOf = (settings: Pick<Setting, 'setting' | 'value'>[], name: string): string => bare(settings.find((one) => one.setting === name)?.value ?? '');

/** The level that sessions begin with. */
export const autonomy = (settings: Pick<Setting, 'setting' | 'value'>[]): Autonomy => levelNamed(valueOf(settings, 'autonomy')) ?? 'standard';
