import { expect, test } from 'vitest';
import { lines, treeOf } from './tree';

const shown = (paths: string[], open: string[]) => lines(treeOf(paths), new Set(open)).map(({ node, depth }) => `${' '.repeat(depth - 1)}${node.name}${node.folder ? '/' : ''}`);

test('folders come first, and only open ones show what is in them', () => {
  const paths = ['b.txt', 'src/', 'a10.txt', 'a9.txt', 'src/main.rs', 'src/deep/', 'src/deep/x.rs'];
  expect(shown(paths, [])).toEqual(['src/', 'a9.txt', 'a10.txt', 'b.txt']);
  expect(shown(paths, ['src/'])).toEqual(['src/', ' deep/', ' main.rs', 'a9.txt', 'a10.txt', 'b.txt']);
  expect(shown(paths, ['src/deep/'])).toEqual(['src/', 'a9.txt', 'a10.txt', 'b.txt']);
});

test('a folder that is not named itself is there all the same', () => {
  expect(shown(['a/b/c.txt'], ['a/', 'a/b/'])).toEqual(['a/', ' b/', '  c.txt']);
});
