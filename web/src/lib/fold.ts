// A session as it is shown: a fold over its events, and nothing else. What is unknown is left out. The entries that
// come of it are those of `crates/surfaces/src/conversation/`; `conversation.test.ts` holds both to the same fixtures.

import { Draft, type Handlers } from './fold/draft';
import { flowEvents } from './fold/flow';
import { modelEvents } from './fold/model';
import { sessionEvents } from './fold/session';
import { subtaskEvents } from './fold/subtasks';
import type { Turn, View } from './fold/view';
import { workEvents } from './fold/work';
import type { Event } from './wire';

export * from './fold/view';

const handlers: Handlers = { ...sessionEvents, ...flowEvents, ...modelEvents, ...subtaskEvents, ...workEvents };

/**
 * The view after these events. Parts that changed are new objects, all others the same as before, so that
 * what is on the screen is only drawn again where something happened.
 */
export function fold(before: View, events: Event[]): View {
  const draft = new Draft(before);
  for (const event of events) {
    if (event.seq !== undefined) {
      if (event.seq <= draft.view.seq) continue;
      draft.view.seq = event.seq;
    }
    // Types of a newer server have no handler.
    const handle: ((draft: Draft, event: never) => void) | undefined = Object.hasOwn(handlers, event.type) ? handlers[event.type] : undefined;
    handle?.(draft, event as never);
  }
  return draft.view;
}

/** The request that is worked on or waits, if there is one. */
export function running(view: View): Turn | undefined {
  return view.turns.find((turn) => turn.status === undefined);
}

/** Whether anything of a turn still wants a person: an open question about it. */
export function pending(view: View, turn: Turn): boolean {
  return view.open.some((id) => view.checkpoints[id]?.request === turn.id);
}
