// What the person chose for the messages of one session: the mode, the model, and how much it thinks.

import { keep, kept } from './storage';

export const EFFORTS = ['auto', 'off', 'minimal', 'low', 'medium', 'high', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];
export const MODES = ['auto', 'chat', 'plan'] as const;
export type Mode = (typeof MODES)[number];

export interface MessageOptions {
  mode: Mode;
  /** `provider/name`; empty: the one of the settings. */
  model: string;
  effort: Effort;
}

/** The session that does not exist yet. */
export const NEW = 'new';
const DEFAULTS: MessageOptions = { mode: 'auto', model: '', effort: 'auto' };

const level = (name: unknown): Effort | undefined => EFFORTS.find((one) => one === name);
export const modeNamed = (name: unknown): Mode | undefined => MODES.find((one) => one === name);

export function keptOptions(place: string): MessageOptions {
  try {
    const read = JSON.parse(kept(`options.${place}`) ?? '{}') as Partial<Record<keyof MessageOptions, unknown>>;
    return { mode: modeNamed(read.mode) ?? 'auto', model: typeof read.model === 'string' ? read.model : '', effort: level(read.effort) ?? 'auto' };
  } catch {
    return DEFAULTS;
  }
}

export function keepOptions(place: string, options: MessageOptions) {
  const same = (Object.keys(DEFAULTS) as (keyof MessageOptions)[]).every((name) => options[name] === DEFAULTS[name]);
  keep(`options.${place}`, same ? null : JSON.stringify(options));
}

/** A new session takes the choices along. The next one starts with the same model, and in the mode that suits most. */
export function handOver(session: string) {
  const options = keptOptions(NEW);
  keepOptions(session, options);
  keepOptions(NEW, { ...options, mode: 'auto' });
}

/** The fields of a message: nothing where the settings decide. */
export function inMessage({ mode, model, effort }: MessageOptions): { mode: Mode; model?: string; effort?: Exclude<Effort, 'auto'> } {
  return { mode, ...(model ? { model } : {}), ...(effort === 'auto' ? {} : { effort }) };
}

/** What a typed `/effort LEVEL` or `/model NAME` sets; null: it is no such command; a sentence: it is not valid. */
export function typedOption(text: string): Partial<MessageOptions> | string | null {
  const [, name, value = ''] = /^\/(effort|model)(?:\s+(\S*))?\s*$/.exec(text.trim()) ?? [];
  if (name === 'model') return value === '' || value.includes('/') ? { model: value } : 'Invalid model. Expected PROVIDER/NAME.';
  if (name !== 'effort') return null;
  const effort = level(value || 'auto');
  return effort ? { effort } : `Invalid effort. Expected ${EFFORTS.join(', ')}.`;
}
