import { expect, test } from 'vitest';
import { completed, ranked, wordAt } from './complete';

const typed = (text: string, slash = true) => {
  const found = wordAt(text, text.length, slash);
  return found && `${found.source} ${found.typed}`;
};

test('signs call their lists only where a word begins', () => {
  expect(typed('look at @src/ma')).toBe('files src/ma');
  expect(typed('(see @a')).toBe('files a');
  expect(typed('mail me@example.org')).toBeNull();
  expect(typed('/rev')).toBe('commands rev');
  expect(typed('/rev', false)).toBeNull();
  expect(typed('in /usr')).toBeNull();
  expect(typed('/usr/bin')).toBeNull();
  expect(typed('@a b')).toBeNull();
  expect(typed('')).toBeNull();
  expect(typed(`@${'a'.repeat(400)}`)).toBeNull();
});

test('the word at the caret counts, wherever that is', () => {
  expect(wordAt('see @ab and more', 7, false)).toEqual({ source: 'files', typed: 'ab', from: 4, to: 7 });
});

test('names come before paths, and shorter ones first', () => {
  const paths = ['src/', 'docs/kite.md', 'src/kite/invoice.py', 'src/kite.py', 'tests/test_kite.py'];
  expect(ranked(paths, 'kite', 8)).toEqual(['src/kite.py', 'docs/kite.md', 'tests/test_kite.py', 'src/kite/invoice.py']);
  expect(ranked(paths, 'SRC/K', 8)).toEqual(['src/kite.py', 'src/kite/invoice.py']);
  expect(ranked(paths, 'skp', 8)).toEqual(['src/kite.py', 'tests/test_kite.py', 'src/kite/invoice.py']);
  expect(ranked(paths, '', 2)).toEqual(['src/', 'src/kite.py']);
  expect(ranked(paths, 'zzz', 8)).toEqual([]);
});

test('a file ends its word, and a folder is gone on with', () => {
  const at = wordAt('see @ki', 7, false);
  expect(at && completed('see @ki', at, 'src/kite.py')).toEqual({ text: 'see @src/kite.py ', caret: 17 });
  expect(at && completed('see @ki', at, 'src/')).toEqual({ text: 'see @src/', caret: 9 });
  const middle = wordAt('see @ki now', 7, false);
  expect(middle && completed('see @ki now', middle, 'a.py')).toEqual({ text: 'see @a.py now', caret: 9 });
});
