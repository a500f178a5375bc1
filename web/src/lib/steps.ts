// What could come next is said once: as buttons, where they are shown.

import type { Answer } from './wire';

type Step = Answer['nextSteps'][number];

const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&nbsp;': ' ', '&amp;': '&' };

/** How a step is shown: text without its tags. Its HTML is a model's, so no parser of HTML ever sees it. */
export function label(step: Step): string {
  return step.html.replace(/<\/?[A-Za-z][^>]*>|&(?:lt|gt|quot|#39|nbsp|amp);/g, (mark) => ENTITIES[mark] ?? '');
}

/** Whether a step sends other words than the ones that it is shown by. */
export function differs(step: Step): boolean {
  const words = (text: string) => text.replace(/\s+/g, ' ').trim();
  return words(label(step)) !== words(step.inputText);
}

const HEADING = /^[#*_: ]*(?:(?:possible|suggested) )?next steps?[#*_: ]*$/i;
const ITEM = /^(?:[-*•]|\d+[.)])[ \t]+(.*)$/;

/** Words without the list at their end, if all of it stands on buttons beside them. */
export function withoutSteps(text: string, steps: Answer['nextSteps']): string {
  const lines = text.split('\n');
  const heading = lines.findLastIndex((line) => HEADING.test(line.trim()));
  const before = lines.slice(0, Math.max(heading, 0)).join('\n').trimEnd();
  if (before === '') return text;
  const offered = new Set(steps.map((step) => step.inputText));
  const listed = lines.slice(heading + 1).map((line) => line.trim()).filter(Boolean);
  const isOffered = (line: string) => offered.has(ITEM.exec(line)?.[1]?.trim().replaceAll('**', '') ?? '');
  return listed.length && listed.every(isOffered) ? before : text;
}
