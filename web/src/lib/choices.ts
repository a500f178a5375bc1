// Which key chooses which answer, and what an answer needs. A key belongs to its answer, not to a position, and is the
// same on every surface.

import type { Checkpoint } from './fold';
import type { Choice } from './wire';

export interface Keyed {
  choice: Choice;
  number: number;
  key?: string;
  /** It makes a rule: a second step shows the rule. */
  confirms: boolean;
}

export function keyed({ choices }: Pick<Checkpoint, 'choices'>): Keyed[] {
  const taken = new Set(choices.map((choice) => choice.number).filter((number) => number !== undefined));
  return choices.map((choice, at) => {
    let number = choice.number ?? at + 1;
    if (choice.number === undefined) {
      while (taken.has(number)) number++;
      taken.add(number);
    }
    return { choice, number, ...(choice.key ? { key: choice.key } : {}), confirms: choice.confirm === true };
  });
}

/** The answer that a pressed key stands for. */
export function pressed(all: Keyed[], key: string): Keyed | undefined {
  return all.find((one) => String(one.number) === key || (one.key !== undefined && one.key === key.toLowerCase()));
}

/** Whether it makes happen what the question is about: that must have been in sight. */
export function consents({ role }: Choice): boolean {
  return role !== 'reject_once' && role !== 'reject_always' && role !== 'secondary' && role !== 'dismiss';
}

/** Whether a box is opened for its text. Whoever rejects something may say why. */
export function opensBox({ text, role }: Choice): boolean {
  return text === 'required' || (text === 'optional' && role === 'reject_once');
}

/** What stands above that box. */
export function boxLabel({ about }: Pick<Checkpoint, 'about'>, choice: string): string {
  switch (about) {
    case 'question':
    case 'clarify':
    case 'elicitation':
      return 'Your answer';
    case 'tool':
    case 'tell':
      return 'What should be done differently?';
    case 'subtaskPlan':
      return 'The plan: a line “1. What to do” for each sub-task, below it “files:”, “after:” and “model:”';
    case 'subtaskFailed':
      return choice === 'retry_model' ? 'PROVIDER/NAME' : 'The new instruction';
    case 'mergeConflict':
      return 'The whole text of the file';
    case 'plan':
      return 'What should be different about the plan?';
    default:
      return 'What should be different?';
  }
}

/** A rule in words. */
export function ruleText(rule: unknown): string {
  const { verdict, tool, pattern, folder } = (rule ?? {}) as Record<string, string | null>;
  const verb = verdict === 'deny' ? 'deny' : verdict === 'ask' ? 'ask about' : 'allow';
  return tool ? `${verb} ${tool}: ${pattern} (${folder ? `in ${folder}` : 'everywhere'})` : '';
}

/** The rule that an answer names itself, in words. */
export const ruleTextOf = ({ rule }: Choice) => ruleText(rule);

/** The forms of an answer that add other rules. They are shown in its second step. */
export const formsOf = (all: Keyed[], id: string | undefined) => all.filter((one) => one.choice.variantOf != null && one.choice.variantOf === id);

/** The answers of the first step. */
export const firstStep = (all: Keyed[]) => all.filter((one) => one.choice.variantOf == null);

/** The rule that an answer makes. A question names the one that allows. */
export const ruleOf = ({ role }: Choice, text: string) => (role === 'reject_always' ? text.replace(/^(allow|ask about) /, 'deny ') : text);
