// An answer in one JSON text: while it is still being written, and in words.

import type { Answer } from './wire';

/** All that it says, in Markdown. */
export function inWords(answer: Answer): string {
  const fence = (code: string) => '`'.repeat(Math.max(3, ...(code.match(/`+/g) ?? []).map((run) => run.length + 1)));
  const block = ({ language, code }: { language: string; code: string }) => `${fence(code)}${language}\n${code.trimEnd()}\n${fence(code)}`;
  const sections = answer.sections.flatMap((one) => [one.heading && `### ${one.heading}`, one.content, ...(one.codeBlocks ?? []).map(block)]);
  return [answer.summary, ...sections].filter((part) => part.trim() !== '').join('\n\n');
}

/** As much of its summary as can be read. */
export function partialSummary(text: string): string {
  const start = /"summary"\s*:\s*"/.exec(text);
  if (!start) return '';
  let [said, at] = ['', start.index + start[0].length];
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] !== '\\') said += text[at];
    else {
      const next = text[++at];
      said += next === 'n' ? '\n' : next === 't' ? '\t' : next === 'u' ? '' : (next ?? '');
      if (next === 'u') {
        const code = Number.parseInt(text.slice(at + 1, at + 5), 16);
        if (Number.isFinite(code)) said += String.fromCharCode(code);
        at += 4;
      }
    }
  }
  return said;
}
