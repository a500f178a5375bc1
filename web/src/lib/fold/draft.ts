// The view that comes of a batch of events. Parts that change are copied once, however many events change them:
// copies of copies would make a long session slow.

import type { Event } from '../wire';
import type { Item, Turn, View } from './view';

export type Kind = Event['type'];
export type Handler<K extends Kind> = (draft: Draft, event: Extract<Event, { type: K }>) => void;
/** What is done for each of these types. A type of the description that no group has does not compile in `fold.ts`. */
export type Handlers<K extends Kind = Kind> = { [T in K]: Handler<T> };

/** For what other parts of the page show, or nothing does. */
export const ignored = () => {};

type Of<K extends Item['is']> = Extract<Item, { is: K }>;

export class Draft {
  readonly view: View;
  private places: Map<string, number>;
  private own = new Set<string>();
  private copied = new Set<string>();
  private tools = new Map<string, Set<string>>();

  constructor(before: View) {
    this.view = { ...before, turns: [...before.turns] };
    this.places = new Map(this.view.turns.map((turn, at) => [turn.id, at]));
  }

  /** A part of the view that may be changed. */
  copy<K extends 'checkpoints' | 'proposals' | 'aside'>(which: K): View[K] {
    if (!this.copied.has(which)) this.view[which] = { ...this.view[which] };
    this.copied.add(which);
    return this.view[which];
  }

  knows(id: string): boolean {
    return this.places.has(id);
  }

  begin(turn: Turn) {
    this.places.set(turn.id, this.view.turns.length);
    this.own.add(turn.id);
    this.view.turns.push(turn);
  }

  /** A turn that may be changed. */
  turn(id: string | undefined): Turn | undefined {
    const at = id === undefined ? undefined : this.places.get(id);
    if (at === undefined) return undefined;
    const known = this.view.turns[at] as Turn;
    if (this.own.has(known.id)) return known;
    this.own.add(known.id);
    const fresh = { ...known, items: [...known.items], thoughts: [...known.thoughts] };
    this.view.turns[at] = fresh;
    return fresh;
  }

  /** Adds the item of a tool call, unless the turn has it. */
  addTool(id: string | undefined, item: Of<'tool'>) {
    const found = this.turn(id);
    if (!found) return;
    const known = this.tools.get(found.id) ?? new Set(found.items.map((one) => (one.is === 'tool' ? one.call : '')));
    this.tools.set(found.id, known);
    if (!known.has(item.call)) found.items.push(item);
    known.add(item.call);
  }

  update(id: string | undefined, fields: Partial<Turn>) {
    const found = this.turn(id);
    if (found) Object.assign(found, fields);
  }

  add(id: string | undefined, item: Item) {
    this.turn(id)?.items.push(item);
  }

  /** Puts a new object in the place of the last item that matches; whether there is one. */
  change<K extends Item['is']>(id: string | undefined, is: K, matches: (item: Of<K>) => boolean, to: (item: Of<K>) => Item): boolean {
    const items = this.turn(id)?.items ?? [];
    const at = items.findLastIndex((item) => item.is === is && matches(item as Of<K>));
    if (at >= 0) items[at] = to(items[at] as Of<K>);
    return at >= 0;
  }

  /** Says what is going on, unless that was said last. */
  note(id: string | undefined, label: string) {
    const found = this.turn(id);
    if (found && found.thoughts.at(-1) !== label) found.thoughts.push(label);
  }
}
