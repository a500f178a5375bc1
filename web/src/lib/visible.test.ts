import { expect, test } from 'vitest';
import { pieces, visible, type Kind } from './visible';
import cases from '../../../crates/vocab/tests/visible.json';

test('what is shown is spelled as the server spells it', () => {
  for (const [kind, pairs] of Object.entries(cases)) {
    for (const [text, seen] of pairs as [string, string][]) expect(visible(text, kind as Kind), JSON.stringify(text)).toBe(seen);
  }
});

test('what is spelled out is marked, so that text cannot pass for a mark', () => {
  expect(pieces('a⟨U+202E⟩\u{202e}b')).toEqual([{ text: 'a⟨U+202E⟩', mark: false }, { text: '⟨U+202E⟩', mark: true }, { text: 'b', mark: false }]);
});

test('runs of blanks are counted', () => {
  const shown = (text: string) => pieces(text, 'command', { folded: true }).map((piece) => piece.text).join('');
  expect(shown(`ls${' '.repeat(300)}; rm x`)).toBe('ls⟨300 spaces⟩; rm x');
  expect(shown(`ls${'\n'.repeat(40)}rm x`)).toBe('ls\n⟨39 blank lines⟩\nrm x');
  expect(shown(`ls\n \n  \n   \nrm x`)).toBe('ls\n⟨3 blank lines⟩\nrm x');
  expect(shown('cat <<E\n\n    four\nE')).toBe('cat <<E\n\n    four\nE');
});
