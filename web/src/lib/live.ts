// A session's events as they come. After a break they are asked for from the last one that was seen.
//
// The stream is read with `fetch` rather than with `EventSource`: that one makes an object and a task of every
// single event, which for a session of ten thousand of them takes longer than all else together, and it cannot
// tell where what was recorded ends and what happens begins.

import { failure, type Failure } from './api';
import type { Event, Given } from './wire';

export type Connection = 'connecting' | 'live' | 'lost';

export interface Watch {
  close(): void;
}

/** What is told of a session that is watched. */
export interface Watcher {
  /** Events, in batches: all that was recorded at once, then at most one batch for each frame of the screen. */
  took(events: Event[]): void;
  /** So many recorded events were read so far. */
  reading(count: number): void;
  /** All that was recorded has been told. */
  ready(): void;
  connection(connection: Connection): void;
  problem(problem: Pick<Failure, 'code' | 'message' | 'hint'>): void;
  /** There is no such session, or no longer. Nothing more is told. */
  missing(): void;
}

const LONGEST_WAIT = 8_000;

/** One thing that was sent: a comment, or data and what it is. */
export interface Sent {
  comment?: string;
  event?: string;
  data?: string;
}

/** What is whole of a text of server-sent events, and the rest, which goes on later. */
export function cut(text: string): [Sent[], string] {
  const pieces = text.split('\n\n');
  const rest = pieces.pop() ?? '';
  return [pieces.map(piece), rest];
}

function piece(text: string): Sent {
  const sent: Sent = {};
  for (const line of text.split('\n')) {
    if (line.startsWith('data: ')) sent.data = sent.data === undefined ? line.slice(6) : `${sent.data}\n${line.slice(6)}`;
    else if (line.startsWith('event: ')) sent.event = line.slice(7);
    else if (line.startsWith(': ')) sent.comment = line.slice(2);
  }
  return sent;
}

export function watch(session: string, after: () => number, told: Watcher): Watch {
  let [closed, wait, frame, timer, replays] = [false, 250, 0, 0, true];
  let batch: Event[] = [];
  let going = new AbortController();

  const flush = () => {
    frame = 0;
    const events = batch;
    batch = [];
    if (events.length && !closed) told.took(events);
  };
  const take = (sent: Sent) => {
    if (sent.comment === 'live') {
      replays = false;
      flush();
      told.ready();
    }
    if (sent.data === undefined) return;
    try {
      const value = JSON.parse(sent.data) as unknown;
      if (sent.event === 'problem') told.problem((value as Given<'ErrorBody'>).error);
      else if (sent.event === undefined) batch.push(value as Event);
    } catch {
      // What cannot be read is passed over.
    }
  };
  const read = async () => {
    told.connection('connecting');
    flush();
    replays = true;
    going = new AbortController();
    try {
      const path = `/api/sessions/${encodeURIComponent(session)}/events?after=${after()}`;
      const response = await fetch(path, { credentials: 'same-origin', signal: going.signal, headers: { accept: 'text/event-stream' } });
      if (response.status === 404) {
        closed = true;
        told.missing();
        return;
      }
      if (!response.ok || !response.body) {
        told.problem(failure(response.status, await response.json().catch(() => null)));
        return;
      }
      wait = 250;
      told.connection('live');
      const words = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await words.read();
        if (done || closed) return;
        rest += value;
        // Only an end has an end of a line in it: the pieces of a long event are not looked through again and again.
        if (!value.includes('\n')) continue;
        let sent: Sent[];
        [sent, rest] = cut(rest);
        sent.forEach(take);
        if (replays) told.reading(batch.length);
        // A page in the background has no frames.
        else if (batch.length && !frame) frame = document.hidden ? window.setTimeout(flush, 200) : requestAnimationFrame(flush);
      }
    } catch {
      // It is lost, which is said below.
    } finally {
      going.abort();
    }
  };
  const open = async () => {
    await read();
    if (closed) return;
    flush();
    told.connection('lost');
    timer = window.setTimeout(() => void open(), wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  };
  void open();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      going.abort();
    },
  };
}
