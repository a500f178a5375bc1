// A session's events as they come. After a break they are asked for from the last one that was seen.

import type { Event } from './wire';

export type Connection = 'connecting' | 'live' | 'lost';

export interface Watch {
  close(): void;
}

const LONGEST_WAIT = 8_000;

/**
 * Tells of events in batches, at most one for each frame, so that a fast stream costs no more than the
 * screen can show.
 */
export function watch(
  session: string,
  after: () => number,
  took: (events: Event[]) => void,
  state: (connection: Connection) => void,
): Watch {
  let source: EventSource | null = null;
  let [closed, wait, frame, timer] = [false, 250, 0, 0];
  let batch: Event[] = [];

  const flush = () => {
    frame = 0;
    const events = batch;
    batch = [];
    if (events.length && !closed) took(events);
  };
  const take = (message: MessageEvent<string>) => {
    try {
      batch.push(JSON.parse(message.data) as Event);
    } catch {
      return;
    }
    // A page in the background has no frames.
    if (!frame) frame = document.hidden ? window.setTimeout(flush, 200) : requestAnimationFrame(flush);
  };
  const open = () => {
    if (closed) return;
    state('connecting');
    flush();
    source = new EventSource(`/api/sessions/${encodeURIComponent(session)}/events?after=${after()}`);
    source.onopen = () => {
      wait = 250;
      state('live');
    };
    source.onmessage = take;
    source.onerror = () => {
      // The browser would try again by itself, but neither after an error status nor with patience.
      source?.close();
      state('lost');
      timer = window.setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    };
  };
  open();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      source?.close();
    },
  };
}
