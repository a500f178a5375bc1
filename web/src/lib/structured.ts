// An answer in one JSON text, while it is still being written.

/** As much of its summary as can be read. */
export function partialSummary(text: string): string {
  const start = /"summary"\s*:\s*"/.exec(text);
  if (!start) return '';
  let [said, at] = ['', start.index + start[0].length];
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] !== '\\') said += text[at];
    else {
      const next = text[++at];
      said += next === 'n' ? ' ' : next === 'u' ? '' : (next ?? '');
      if (next === 'u') {
        const code = Number.parseInt(text.slice(at + 1, at + 5), 16);
        if (Number.isFinite(code)) said += String.fromCharCode(code);
        at += 4;
      }
    }
  }
  return said;
}
