// How far back a conversation is drawn. Its end is drawn at once, all before it piece by piece while nothing
// else is to be done, so that a long session opens as fast as a short one and the browser still finds every word.

import type { Item, Turn } from './fold';
import { isLook } from './tools';

/** The first item that is drawn. Of its turn the request is drawn too, and all turns after it are drawn whole. */
export interface Start {
  turn: number;
  item: number;
}

/** What is drawn before anything is seen, and what is drawn at once afterwards: about a frame's worth. */
export const OPENING = 80;
export const SLICE = 40;
/** What is drawn without being asked for. Whoever wants still more scrolls up to it. */
export const PLENTY = 12_000;

const TURN = 4;
/** Words and diffs take longer to draw than the one line of a tool. */
const weight = (item: Item) => (item.is === 'said' ? 1 + item.text.length / 500 : 1);

export const end = (turns: Turn[]): Start => ({ turn: turns.length, item: 0 });
export const complete = (start: Start) => start.turn === 0 && start.item === 0;

/** So much further back than `from`, but at least one item. */
export function back(turns: Turn[], from: Start, weights: number): Start {
  let { turn, item } = from;
  for (let left = weights; left > 0 && (turn > 0 || item > 0); ) {
    if (item === 0) {
      turn -= 1;
      item = turns[turn]?.items.length ?? 0;
      left -= TURN;
    }
    while (item > 0 && left > 0) {
      item -= 1;
      left -= weight(turns[turn]?.items[item] as Item);
    }
  }
  return { turn, item };
}

/** What is drawn as one: an item, or many looks in a row that all went well. */
export interface Run {
  /** Its place among the items of the turn. */
  at: number;
  items: Item[];
}

/** Fewer looks than these are shown one by one. */
const FEW = 4;
const quiet = (item: Item | undefined) => item?.is === 'tool' && item.status === 'ok' && !item.run && !item.images?.length && isLook(item.name);

/** The items of a turn from `skip` on, with looks in a row together. */
export function runs(items: Item[], skip: number): Run[] {
  const found: Run[] = [];
  for (let at = skip; at < items.length; ) {
    let next = at + 1;
    if (quiet(items[at])) while (quiet(items[next])) next += 1;
    if (next - at < FEW) next = at + 1;
    found.push({ at, items: items.slice(at, next) });
    at = next;
  }
  return found;
}
