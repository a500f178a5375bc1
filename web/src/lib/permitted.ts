// What was answered to a permission, in the few words that the card of its call has room for.

import type { Checkpoint } from './fold';

const WORDS: Record<string, string> = { allow_once: 'Allowed', allow_always: 'Always allowed', reject_once: 'Denied', reject_always: 'Never allowed' };
/** Answers of logs that know no roles yet. */
const ROLES: Record<string, string> = { allow: 'allow_once', always: 'allow_always', wait: 'reject_once', never: 'reject_always' };

export function permission({ resolved, choices }: Pick<Checkpoint, 'resolved' | 'choices'>): string {
  if (!resolved) return '';
  const chosen = choices.find((one) => one.id === resolved.choice);
  const words = WORDS[chosen?.role ?? ROLES[resolved.choice] ?? ''];
  const whom = resolved.by === 'user' ? 'you' : resolved.by;
  return words ? `${words} by ${whom}` : `${chosen?.label ?? resolved.choice} (${whom})`;
}
