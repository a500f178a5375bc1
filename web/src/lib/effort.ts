// How much the model thinks, as the person chose it for the next messages.

import { keep, kept } from './storage';

export const EFFORTS = ['auto', 'off', 'minimal', 'low', 'medium', 'high', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

const level = (name: string | null | undefined): Effort | undefined => EFFORTS.find((one) => one === name);

export function keptEffort(): Effort {
  return level(kept('effort')) ?? 'auto';
}

export function keepEffort(effort: Effort) {
  keep('effort', effort === 'auto' ? null : effort);
}

/** What a message says of it: nothing, where it is left to the settings. */
export function withEffort(): { effort?: Exclude<Effort, 'auto'> } {
  const effort = keptEffort();
  return effort === 'auto' ? {} : { effort };
}

/** The level that a typed `/effort LEVEL` names; null: it is no such command; undefined: it names none. */
export function typedEffort(text: string): Effort | null | undefined {
  const found = /^\/effort(?:\s+(\S*))?\s*$/.exec(text.trim());
  return found ? level(found[1] || 'auto') : null;
}
