// What the message box completes: files and resources after `@`, and commands after a `/` at its beginning.

export interface Completion {
  source: 'files' | 'commands';
  /** What was typed after the sign. */
  typed: string;
  /** Where the word stands, with its sign. */
  from: number;
  to: number;
}

/** Longer words are no names. */
const LONGEST = 300;

/** The word before the caret, if it can be completed. `slash`: the person typed the slash at the beginning as a key. */
export function wordAt(text: string, caret: number, slash: boolean): Completion | null {
  const before = text.slice(Math.max(0, caret - LONGEST), caret);
  const word = /\S*$/.exec(before)?.[0] ?? '';
  // A bracket or a quote before the sign does not matter.
  const bare = word.replace(/^[([{"']+/, '');
  const from = caret - bare.length;
  if (bare.startsWith('@')) return { source: 'files', typed: bare.slice(1), from, to: caret };
  if (slash && from === 0 && /^\/[^/]*$/.test(bare)) return { source: 'commands', typed: bare.slice(1), from, to: caret };
  return null;
}

const baseName = (path: string) => path.replace(/\/$/, '').split('/').pop() ?? path;

/** How well a path fits what was typed: less is better, null is not at all. */
function fit(path: string, typed: string): number | null {
  const [whole, name] = [path.toLowerCase(), baseName(path).toLowerCase()];
  if (whole === typed || name === typed) return 0;
  if (name.startsWith(typed)) return 1;
  if (whole.startsWith(typed)) return 2;
  if (name.includes(typed)) return 3;
  if (whole.includes(typed)) return 4;
  let at = -1;
  for (const letter of typed) {
    at = whole.indexOf(letter, at + 1);
    if (at < 0) return null;
  }
  return 5;
}

/** The paths that fit best, shorter ones first. */
export function ranked(paths: readonly string[], typed: string, most: number): string[] {
  const wanted = typed.toLowerCase();
  const found: { path: string; rank: number }[] = [];
  for (const path of paths) {
    const rank = wanted === '' ? 1 : fit(path, wanted);
    if (rank !== null) found.push({ path, rank });
  }
  return found.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length).slice(0, most).map((one) => one.path);
}

/** The text with the word replaced, and where the caret stands then. A folder is gone on with. */
export function completed(text: string, { from, to, source }: Completion, name: string): { text: string; caret: number } {
  const sign = source === 'files' ? '@' : '/';
  const rest = text.slice(to);
  const gap = name.endsWith('/') || /^\s/.test(rest) ? '' : ' ';
  const written = source === 'files' && /\s/.test(name) ? `"${name}"` : name;
  const word = `${sign}${written}${gap}`;
  return { text: text.slice(0, from) + word + rest, caret: from + word.length };
}
