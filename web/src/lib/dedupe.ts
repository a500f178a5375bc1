// The last words of a model and the answer are the same text, but for what is no part of an answer.

import type { Answer } from './wire';

/** Words as the answer has them, if it is a part of them: banners that stand before or behind it are left out. */
export function spokenAs(text: string, answer: Pick<Answer, 'summary'> | undefined): string {
  const summary = answer?.summary.trim();
  return summary && text.includes(summary) ? summary : text;
}
