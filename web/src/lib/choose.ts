// What a person wants of a proposed change: files, or places in them by the numbers that everybody counts with.

import type { Given } from './wire';

type File = Given<'FileDiff'>;

/** What is left out, by file and number. A file without lines to compare is one place. */
export type Left = ReadonlySet<string>;

const name = (file: File, hunk: number) => `${hunk} ${file.path}`;
const places = (file: File) => Array.from({ length: Math.max(1, file.hunks) }, (_, at) => at + 1);

export const isLeft = (left: Left, file: File, hunk: number) => left.has(name(file, hunk));
export const total = (files: File[]) => files.reduce((sum, file) => sum + places(file).length, 0);
const wanted = (file: File, left: Left) => places(file).filter((hunk) => !isLeft(left, file, hunk));
export const count = (files: File[], left: Left) => files.reduce((sum, file) => sum + wanted(file, left).length, 0);

/** Whether all of a file is wanted, none of it, or some. */
export function share(file: File, left: Left): 'all' | 'none' | 'some' {
  const kept = wanted(file, left).length;
  return kept === 0 ? 'none' : kept === places(file).length ? 'all' : 'some';
}

/** The other way round: one place of a file, or all of it. */
export function toggle(left: Left, file: File, hunk?: number): Left {
  const next = new Set(left);
  const leave = hunk === undefined ? share(file, left) === 'all' : !isLeft(left, file, hunk);
  for (const one of hunk === undefined ? places(file) : [hunk]) {
    if (leave) next.add(name(file, one));
    else next.delete(name(file, one));
  }
  return next;
}

/** As the server takes it: files, each whole or with the numbers of its parts. */
export function parts(files: File[], left: Left): Given<'ChangePart'>[] {
  return files.flatMap((file): Given<'ChangePart'>[] => {
    const hunks = wanted(file, left);
    if (hunks.length === 0) return [];
    return [hunks.length === places(file).length ? { path: file.path } : { path: file.path, hunks }];
  });
}
