// A unified diff as rows for the screen, with the words that differ marked.

export interface Words {
  text: string;
  changed: boolean;
}
export interface Row {
  kind: 'head' | 'same' | 'added' | 'removed';
  text: string;
  old?: number;
  new?: number;
  /** The first line of a hunk: which one, from 1. */
  hunk?: number;
  /** The hunk that a line belongs to. */
  of?: number;
  parts: Words[];
}
export interface Pair {
  head?: Row;
  old?: Row;
  new?: Row;
}

export function rows(diff: string): Row[] {
  const found: Row[] = [];
  let [old, fresh, hunks] = [0, 0, 0];
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk) {
      [old, fresh] = [Number(hunk[1]), Number(hunk[2])];
      found.push({ kind: 'head', text: `line ${fresh}${hunk[3] ? ` · ${hunk[3].trim()}` : ''}`, hunk: ++hunks, parts: [] });
    } else if (/^(---|\+\+\+|diff |index )/.test(line)) {
      continue;
    } else if (line.startsWith('\\')) {
      found.push({ kind: 'head', text: line.slice(2), parts: [] });
    } else {
      const text = line.slice(1);
      const kind = line[0] === '+' ? 'added' : line[0] === '-' ? 'removed' : 'same';
      const row: Row = { kind, text, of: hunks, parts: [{ text, changed: false }] };
      if (kind !== 'added') row.old = old++;
      if (kind !== 'removed') row.new = fresh++;
      found.push(row);
    }
  }
  // In a file whose every line ends in a carriage return, it says nothing; a single one is shown.
  const lines = found.filter((row) => row.kind !== 'head');
  if (lines.every((row) => row.text.endsWith('\r'))) {
    for (const row of lines) row.parts = [{ text: (row.text = row.text.slice(0, -1)), changed: false }];
  }
  mark(found);
  return found;
}

/** Marks the words that differ between a run of removed lines and the run of added ones that follows it. */
function mark(lines: Row[]) {
  for (let at = 0; at < lines.length; at++) {
    if (lines[at]?.kind !== 'removed') continue;
    let middle = at;
    while (lines[middle]?.kind === 'removed') middle++;
    let end = middle;
    while (lines[end]?.kind === 'added') end++;
    if (end - middle === middle - at) {
      for (let n = 0; n < middle - at; n++) pair(lines[at + n] as Row, lines[middle + n] as Row);
    }
    at = end - 1;
  }
}

/** What two lines share at both ends stays as it is; most edits of a line have one place. */
function pair(old: Row, fresh: Row) {
  const cut = (text: string) => text.match(/\w+|\s+|[^\w\s]/gu) ?? [];
  const [a, b] = [cut(old.text), cut(fresh.text)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const shared = start + end;
  if (shared === 0 || shared * 2 < Math.min(a.length, b.length)) return;
  const parts = (words: string[]): Words[] =>
    [
      { text: words.slice(0, start).join(''), changed: false },
      { text: words.slice(start, words.length - end).join(''), changed: true },
      { text: words.slice(words.length - end).join(''), changed: false },
    ].filter((part) => part.text !== '');
  old.parts = parts(a);
  fresh.parts = parts(b);
}

/** The same rows for two columns. */
export function sides(lines: Row[]): Pair[] {
  const pairs: Pair[] = [];
  for (let at = 0; at < lines.length; ) {
    const row = lines[at] as Row;
    if (row.kind === 'head') {
      pairs.push({ head: row });
      at++;
    } else if (row.kind === 'same') {
      pairs.push({ old: row, new: row });
      at++;
    } else {
      const [removed, added]: [Row[], Row[]] = [[], []];
      while (lines[at]?.kind === 'removed') removed.push(lines[at++] as Row);
      while (lines[at]?.kind === 'added') added.push(lines[at++] as Row);
      for (let n = 0; n < Math.max(removed.length, added.length); n++) pairs.push({ old: removed[n], new: added[n] });
    }
  }
  return pairs;
}
