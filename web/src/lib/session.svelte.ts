// A session that is looked at: its events folded as they come, and what a person does to it.

import { Failure, get, post, stored, told } from './api';
import { newKey } from './key';
import { accepted, arrived, type Outgoing } from './outbox';
import { empty, fold, type Turn, type View } from './fold';
import type { Given, Picture } from './wire';
import { watch, type Connection, type Watch } from './live';

export class Session {
  view = $state.raw<View>(empty(''));
  connection = $state.raw<Connection>('connecting');
  /** Whether what was recorded before has been read. */
  ready = $state(false);
  /** How much of it was read so far. */
  read = $state(0);
  /** What went wrong last, in words. */
  trouble = $state('');
  /** The process that ran the request has ended; nobody runs it now. */
  interrupted = $state(false);
  /** The server does not know it. */
  missing = $state(false);
  /** Sent, and not heard of yet. */
  sending = $state.raw<Outgoing[]>([]);
  /** Requests that the session has told of while something was on its way. */
  private heard = new Set<string>();
  private watching: Watch;

  constructor(readonly id: string) {
    this.view = empty(id);
    this.watching = watch(id, () => this.view.seq, {
      took: (events) => {
        this.view = fold(this.view, events);
        if (events.some((event) => event.type === 'model.called' || event.type === 'request.finished')) this.interrupted = false;
        if (this.sending.length) {
          for (const event of events) if (event.request && (event.type === 'request.received' || event.type === 'request.joined')) this.heard.add(event.request);
          this.sending = arrived(this.sending, this.heard);
        }
      },
      reading: (count) => (this.read = count),
      ready: () => (this.ready = true),
      connection: (connection) => {
        this.connection = connection;
        if (connection === 'live') void this.look();
      },
      missing: () => (this.missing = true),
      problem: (problem) => (this.trouble = told(new Failure(0, problem.code, problem.message, problem.hint))),
    });
  }

  /** Whether somebody still runs what is not finished. */
  private async look() {
    try {
      const { jobs } = await get<Given<'Jobs'>>('/jobs');
      this.interrupted = jobs.some((job) => job.session === this.id && job.state === 'interrupted');
    } catch {
      // The next connection asks again.
    }
  }

  close() {
    this.watching.close();
  }

  private get path() {
    return `/sessions/${encodeURIComponent(this.id)}`;
  }

  /** Does something, and says so if it could not be done. */
  private async try(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      this.trouble = '';
      return true;
    } catch (error) {
      this.trouble = told(error);
      return false;
    }
  }

  async say(text: string, more: { mode?: string; images?: Picture[]; whileRunning?: string; literal?: boolean; subtasks?: string; autoContinue?: boolean; effort?: string; model?: string } = {}): Promise<boolean> {
    // The same key for every try: a message that arrived although its answer was lost is not sent twice.
    const key = newKey();
    if (!this.sending.length) this.heard.clear();
    this.sending = [...this.sending, { text, key }];
    const done = await this.try(async () => {
      const { request } = await post<Given<'Accepted'>>(`${this.path}/messages`, { text, ...more }, { 'idempotency-key': key });
      this.sending = arrived(accepted(this.sending, key, request), this.heard);
    });
    if (!done) this.sending = this.sending.filter((one) => one.key !== key);
    return done;
  }

  /** The files that changed since before a message, or why they cannot be restored. */
  async filesSince(turn: Turn): Promise<{ paths: string[]; blocked: string | null }> {
    const plan = await post<Given<'RewindResult'>>(`${this.path}/rewind-to`, { before: turn.seq, preview: true });
    return { paths: plan.files.map((file) => file.path), blocked: plan.refused ?? null };
  }

  /** Sends a message of the session again, in a copy that ends before it, with the files as they were. Gives the copy. */
  async resend(turn: Turn, text: string, options: object, withFiles = false): Promise<string | null> {
    let copy: string | null = null;
    await this.try(async () => {
      const images = await Promise.all(turn.images.map(async ({ ref, mediaType }) => ({ mediaType, data: await stored(ref) })));
      const made = withFiles
        ? await post<Given<'RewindResult'>>(`${this.path}/rewind-to`, { before: turn.seq })
        : await post<Given<'Forked'>>(`${this.path}/fork`, { at: turn.seq - 1 }, { 'idempotency-key': newKey() });
      if ('refused' in made && made.refused) throw new Error(made.refused);
      await post(`/sessions/${encodeURIComponent(made.session)}/messages`, { text, ...options, literal: true, ...(images.length ? { images } : {}) }, { 'idempotency-key': newKey() });
      copy = made.session;
    });
    return copy;
  }

  /** The person has chosen to go on in a new session; this page goes along when it is there. */
  leaving = $state(false);

  async answer(checkpoint: string, choice: string, more: { text?: string; edits?: unknown; selection?: unknown } = {}) {
    this.leaving = choice === 'handoff';
    const done = await this.try(() => post(`${this.path}/answers`, { checkpoint, choice, ...more }));
    if (!done) this.leaving = false;
    return done;
  }

  control(action: string, more: Omit<Partial<Given<'NewControl'>>, 'action'> = {}) {
    return this.try(() => post(`${this.path}/control`, { action, ...more }));
  }

  /** The last move of the history, for when it is refused and requested again in another way. */
  private moved: { way: 'rewind' | 'forward'; body: Partial<Given<'Move'>> } | null = null;

  private move(way: 'rewind' | 'forward', body: Partial<Given<'Move'>>) {
    this.moved = { way, body };
    return this.try(() => post(`${this.path}/${way}`, body));
  }

  rewind(steps: number) {
    return this.move('rewind', { steps });
  }

  forward(steps: number) {
    return this.move('forward', { steps });
  }

  /** Takes back what a change did to one file, or to one place in it. */
  undoPart(changeSet: string, path: string, hunk?: number) {
    return this.move('rewind', { changeSet, parts: [{ path, ...(hunk ? { hunks: [hunk] } : {}) }] });
  }

  /** The last move once more, although lines that a person has edited are in its way. */
  moveOver(onConflict: Given<'OnConflict'>) {
    return this.moved ? this.move(this.moved.way, { ...this.moved.body, onConflict }) : Promise.resolve(false);
  }

  get canMoveOver(): boolean {
    return this.moved !== null;
  }

  async handoff(how: 'handoff' | 'extend') {
    this.leaving = how === 'handoff';
    const done = await this.try(() => post(`${this.path}/${how}`));
    if (!done) this.leaving = false;
    return done;
  }
}
