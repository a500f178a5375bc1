// What the person chose for the messages of one session: the mode, the model, how much it thinks, and what it asks about.

import { keep, kept } from './storage';

export const EFFORTS = ['auto', 'off', 'minimal', 'low', 'medium', 'high', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];
export const MODES = ['auto', 'chat', 'plan'] as const;
export type Mode = (typeof MODES)[number];

export const LEVELS = ['careful', 'standard', 'trusting'] as const;
export type Autonomy = (typeof LEVELS)[number];
export interface MessageOptions {
  mode: Mode;
  /** `provider/name`; empty: the one of the settings. */
  model: string;
  effort: Effort;
  /** The level of a session that does not exist yet; absent: that of the settings. An existing session has its own. */
  autonomy?: Autonomy;
}

/** The session that does not exist yet. */
export const NEW = 'new';
const DEFAULTS: MessageOptions = { mode: 'auto', model: '', effort: 'auto' };

export const effortNamed = (name: unknown): Effort | undefined => EFFORTS.find((one) => one === name);
export const levelNamed = (name: unknown): Autonomy | undefined => LEVELS.find((one) => one === name);
/** A level under a limit. */
export const within = (chosen: Autonomy, limit?: Autonomy): Autonomy => (limit && LEVELS.indexOf(limit) < LEVELS.indexOf(chosen) ? limit : chosen);
export const modeNamed = (name: unknown): Mode | undefined => MODES.find((one) => one === name);

export function keptOptions(place: string): MessageOptions {
  try {
    const read = JSON.parse(kept(`options.${place}`) ?? '{}') as Partial<Record<keyof MessageOptions, unknown>>;
    const autonomy = levelNamed(read.autonomy);
    return { mode: modeNamed(read.mode) ?? 'auto', model: typeof read.model === 'string' ? read.model : '', effort: effortNamed(read.effort) ?? 'auto', ...(autonomy ? { autonomy } : {}) };
  } catch {
    return DEFAULTS;
  }
}

export function keepOptions(place: string, options: MessageOptions) {
  const same = !options.autonomy && (Object.keys(DEFAULTS) as (keyof MessageOptions)[]).every((name) => options[name] === DEFAULTS[name]);
  keep(`options.${place}`, same ? null : JSON.stringify(options));
}

/** A new session takes the choices along. The next one starts with the same model, in the mode that suits most, and asks as the settings say. */
export function handOver(session: string) {
  const { autonomy: _, ...options } = keptOptions(NEW);
  keepOptions(session, options);
  keepOptions(NEW, { ...options, mode: 'auto' });
}

/** The fields of a message: nothing where the settings decide. */
export function inMessage({ mode, model, effort, autonomy }: MessageOptions): { mode: Mode; model?: string; effort?: Exclude<Effort, 'auto'>; autonomy?: Autonomy } {
  return { mode, ...(model ? { model } : {}), ...(effort === 'auto' ? {} : { effort }), ...(autonomy ? { autonomy } : {}) };
}
