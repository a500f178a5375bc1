// Which key chooses which answer. A key belongs to its answer, not to a position, and is the same on every surface.

import type { Checkpoint } from './fold';
import type { Choice } from './wire';

/** For questions of servers that name no keys. */
const KNOWN: Record<string, { number: number; key?: string }> = {
  allow: { number: 1, key: 'y' },
  always: { number: 2, key: 'a' },
  wait: { number: 3, key: 'n' },
  skip: { number: 3, key: 'n' },
  never: { number: 4 },
};

export interface Keyed {
  choice: Choice;
  number: number;
  key?: string;
  /** It makes a rule: a second step shows the rule. */
  confirms: boolean;
}

export function keyed({ kind, choices }: Pick<Checkpoint, 'kind' | 'choices'>): Keyed[] {
  const known = kind === 'permission' && choices.some((choice) => choice.id === 'allow') ? KNOWN : {};
  const fixed = choices.map((choice) => choice.number ?? known[choice.id]?.number);
  const taken = new Set(fixed.filter((number) => number !== undefined && number !== null));
  return choices.map((choice, at) => {
    let number = fixed[at] ?? at + 1;
    if (fixed[at] === undefined || fixed[at] === null) {
      while (taken.has(number)) number++;
      taken.add(number);
    }
    const key = choice.key ?? known[choice.id]?.key;
    return { choice, number, ...(key ? { key } : {}), confirms: choice.confirm === true || ['always', 'never'].includes(choice.id) };
  });
}

/** The answer that a pressed key stands for. */
export function pressed(all: Keyed[], key: string): Keyed | undefined {
  return all.find((one) => String(one.number) === key || (one.key !== undefined && one.key === key.toLowerCase()));
}

/** Answers by which nothing is agreed to. For any other, what it is about must have been in sight. */
const REFUSALS = ['wait', 'never', 'skip', 'reject', 'no', 'stop', 'end', 'cancel', 'tell', 'other', 'modify', 'replan', 'needs_changes'];
export const consents = (id: string) => !REFUSALS.includes(id);

/** The rule that an answer makes. A question names the one of “always”. */
export const ruleOf = (id: string, text: string) => (id === 'never' ? text.replace(/^(allow|ask about) /, 'deny ') : text);
