// Text from elsewhere as it may be shown: what cannot be seen, turns the reading direction or passes for another
// character is spelled out. The rules are the server's (`crates/vocab/src/visible.rs`); both are held to
// `crates/vocab/tests/visible.json`.

/** Text that stands for itself, or a mark for what cannot be shown. */
export interface Piece {
  text: string;
  mark: boolean;
}

const HIDDEN =
  '\\u{ad}\\u{34f}\\u{61c}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180b}-\\u{180f}\\u{200b}-\\u{200f}\\u{2028}-\\u{202e}\\u{2060}-\\u{206f}' +
  '\\u{2800}\\u{3164}\\u{fe00}-\\u{fe0f}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fffb}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}';
// Spaces, dashes, curly quotes, primes, the fraction slash, letters of full width or of mathematics, private ones.
const DECEIVING =
  '\\u{a0}\\u{1680}\\u{2000}-\\u{201f}\\u{2024}\\u{2025}\\u{2027}-\\u{2044}\\u{204e}-\\u{206f}\\u{2212}\\u{2215}-\\u{2217}\\u{2223}\\u{2236}\\u{223c}' +
  '\\u{2758}\\u{275b}-\\u{275e}\\u{2b9}-\\u{2df}\\u{300}-\\u{36f}\\u{3000}\\u{fe10}-\\u{fe19}\\u{fe30}-\\u{fe6b}\\u{ff00}-\\u{ffef}\\u{fff0}-\\u{ffff}' +
  '\\u{e000}-\\u{f8ff}\\u{1d400}-\\u{1d7ff}\\u{e0000}-\\u{10ffff}';
const LOOK_ALIKE =
  '\\u{250}-\\u{2af}\\u{370}-\\u{58f}\\u{10a0}-\\u{10ff}\\u{13a0}-\\u{13ff}\\u{1d00}-\\u{1dbf}\\u{1f00}-\\u{1fff}\\u{2100}-\\u{218f}\\u{2c80}-\\u{2cff}' +
  '\\u{a640}-\\u{a69f}\\u{a4d0}-\\u{a4ff}\\u{ab30}-\\u{abbf}';
const CONTROL = '\\u{0}-\\u{8}\\u{b}-\\u{1f}\\u{7f}-\\u{9f}';

const unfit = new RegExp(`[${CONTROL}${HIDDEN}]`, 'u');
const deceiving = new RegExp(`[${CONTROL}\\t${HIDDEN}${DECEIVING}]`, 'u');
const lookAlike = new RegExp(`[${LOOK_ALIKE}]`, 'u');
const letter = /\p{Alphabetic}/u;
const emoji = /[\u{1f000}-\u{1faff}\u{2190}-\u{2bff}\u{3030}\u{303d}0-9#*©®\u{fe0f}]/u;

const spelled = (c: string) => `⟨U+${(c.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟩`;

class Pieces {
  readonly all: Piece[] = [];

  add(text: string, mark = false) {
    const last = this.all.at(-1);
    if (last && !last.mark && !mark) last.text += text;
    else if (text !== '') this.all.push({ text, mark });
  }
}

function ofText(text: string): Piece[] {
  if (!unfit.test(text)) return [{ text, mark: false }];
  const pieces = new Pieces();
  const letters = Array.from(text);
  letters.forEach((c, at) => {
    if (c === '\r' && letters[at + 1] === '\n') return;
    // They join the parts of one emoji, and choose how it looks.
    const joins = (c === '\u{200d}' || c === '\u{fe0f}') && emoji.test(letters[at - 1] ?? ' ');
    if (unfit.test(c) && !joins) pieces.add(spelled(c), true);
    else pieces.add(c);
  });
  return pieces.all;
}

function ofCommand(line: string): Piece[] {
  const pieces = new Pieces();
  let word: string[] = [];
  const flush = () => {
    const mixed = word.some((c) => /[A-Za-z]/.test(c)) && word.some((c) => lookAlike.test(c));
    for (const c of word) {
      if (mixed && lookAlike.test(c)) pieces.add(spelled(c), true);
      else pieces.add(c);
    }
    word = [];
  };
  for (const c of line) {
    const deceives = deceiving.test(c);
    if (!deceives && letter.test(c)) {
      word.push(c);
      continue;
    }
    flush();
    if (deceives) pieces.add(spelled(c), true);
    else pieces.add(c);
  }
  flush();
  return pieces.all;
}

/** Longer runs of nothing are counted instead of shown: they would push what follows them out of sight. */
const BLANK = /( {17,})|\n((?:[ \t]*\n){3,})/g;

function withoutBlanks(given: Piece[]): Piece[] {
  const pieces = new Pieces();
  for (const piece of given) {
    if (piece.mark) {
      pieces.add(piece.text, true);
      continue;
    }
    let from = 0;
    for (const found of piece.text.matchAll(BLANK)) {
      pieces.add(piece.text.slice(from, found.index));
      if (found[1] !== undefined) pieces.add(`⟨${found[1].length} spaces⟩`, true);
      else {
        pieces.add('\n');
        pieces.add(`⟨${(found[2] as string).split('\n').length - 1} blank lines⟩`, true);
        pieces.add('\n');
      }
      from = found.index + found[0].length;
    }
    pieces.add(piece.text.slice(from));
  }
  return pieces.all;
}

/** `text` keeps its lines, `line` is one line, `command` also spells out what passes for another character. */
export type Kind = 'text' | 'line' | 'command';

export function pieces(text: string, kind: Kind = 'text', { folded = false } = {}): Piece[] {
  const found = kind === 'command' ? ofCommand(text) : ofText(text);
  const lines = kind === 'line' ? found.map((piece, at) => ({ ...piece, text: oneLine(piece.text, at + 1 === found.length) })) : found;
  return folded ? withoutBlanks(lines) : lines;
}

const oneLine = (text: string, last: boolean) => (last ? text.replace(/\n+$/, '') : text).replaceAll('\n', ' ↵ ');

export const visible = (text: string, kind: Kind = 'text') => pieces(text, kind).map((piece) => piece.text).join('');
