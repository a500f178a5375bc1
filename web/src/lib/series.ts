// Several commands of one answer, and how they went.

import type { Series } from './wire';

export const isOver = (series: Series) => series.state === 'done' || series.state === 'left';

/** Whether the commands count as failed: while they run, from the first failure on; afterwards by the last one that ran. */
export function isFailing(series: Series): boolean {
  if (!isOver(series)) return series.failed > 0;
  return series.results.findLast((result) => !result.skipped)?.ok === false;
}
