// A chart as a model describes it. Only data and plain options are taken; nothing in it can be run.

import type { ChartConfiguration } from 'chart.js';

const KINDS = ['bar', 'line', 'pie', 'doughnut', 'radar', 'polarArea', 'scatter', 'bubble'];
const MOST_POINTS = 5_000;

/** The chart to draw, or nothing if the text does not describe one. */
export function specification(source: string): ChartConfiguration | null {
  let read: unknown;
  try {
    read = JSON.parse(source);
  } catch {
    return null;
  }
  const wanted = read as { type?: unknown; data?: { labels?: unknown; datasets?: unknown }; options?: { title?: unknown } };
  if (typeof wanted?.type !== 'string' || !KINDS.includes(wanted.type)) return null;
  const sets = wanted.data?.datasets;
  if (!Array.isArray(sets) || sets.length === 0) return null;
  const datasets = [];
  let points = 0;
  for (const set of sets as { label?: unknown; data?: unknown }[]) {
    if (!Array.isArray(set?.data)) return null;
    points += set.data.length;
    const isPoint = (one: unknown) => typeof one === 'number' || one === null || (typeof one === 'object' && 'x' in (one as object));
    if (points > MOST_POINTS || !set.data.every(isPoint)) return null;
    datasets.push({ label: typeof set.label === 'string' ? set.label : '', data: set.data });
  }
  const labels = Array.isArray(wanted.data?.labels) ? wanted.data.labels.map(String) : undefined;
  const title = typeof wanted.options?.title === 'string' ? wanted.options.title : '';
  return {
    type: wanted.type,
    data: { labels, datasets },
    // The page has set colours of its own for the frame, after which only force makes the sets differ.
    options: { animation: false, aspectRatio: 2, plugins: { colors: { forceOverride: true }, title: { display: title !== '', text: title } } },
  } as ChartConfiguration;
}
