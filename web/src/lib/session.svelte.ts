// A session that is looked at: its events folded as they come, and what a person does to it.

import { get, post, told } from './api';
import { empty, fold, type View } from './fold';
import type { Picture } from './wire';
import { watch, type Connection, type Watch } from './live';

export class Session {
  view = $state.raw<View>(empty(''));
  connection = $state.raw<Connection>('connecting');
  /** Whether what was recorded before has been read. */
  ready = $state(false);
  /** What went wrong last, in words. */
  trouble = $state('');
  /** The process that ran the request has ended; nobody runs it now. */
  interrupted = $state(false);
  /** Sent, and not heard of yet. */
  sending = $state.raw<{ text: string; key: string }[]>([]);
  private watching: Watch;

  constructor(readonly id: string) {
    this.view = empty(id);
    this.watching = watch(
      id,
      () => this.view.seq,
      (events) => {
        this.view = fold(this.view, events);
        this.ready = true;
        if (events.some((event) => event.type === 'model.called' || event.type === 'request.finished')) this.interrupted = false;
        if (this.sending.length) {
          const heard = events.filter((event) => event.type === 'request.received' || event.type === 'request.joined');
          const texts = heard.map((event) => ('text' in event ? event.text : ''));
          this.sending = this.sending.filter((one) => !texts.some((text) => one.text.startsWith(text.replace(/…$/, ''))));
        }
      },
      (connection) => {
        this.connection = connection;
        if (connection === 'live') {
          setTimeout(() => (this.ready = true), 150);
          void this.look();
        }
      },
    );
  }

  /** Whether somebody still runs what is not finished. */
  private async look() {
    try {
      const { jobs } = await get<{ jobs: { session: string; state: string }[] }>('/jobs');
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

  async say(text: string, more: { mode?: string; images?: Picture[]; whileRunning?: string } = {}): Promise<boolean> {
    // The same key for every try: a message that arrived although its answer was lost is not sent twice.
    const key = crypto.randomUUID();
    this.sending = [...this.sending, { text, key }];
    const done = await this.try(() => post(`${this.path}/messages`, { text, ...more }, { 'idempotency-key': key }));
    if (!done) this.sending = this.sending.filter((one) => one.key !== key);
    return done;
  }

  answer(checkpoint: string, choice: string, more: { text?: string; edits?: unknown; selection?: unknown } = {}) {
    return this.try(() => post(`${this.path}/answers`, { checkpoint, choice, ...more }));
  }

  control(action: string, more: { text?: string; call?: string } = {}) {
    return this.try(() => post(`${this.path}/control`, { action, ...more }));
  }

  rewind(steps: number) {
    return this.try(() => post(`${this.path}/rewind`, { steps }));
  }

  forward(steps: number) {
    return this.try(() => post(`${this.path}/forward`, { steps }));
  }

  /** Takes back what a change did to one file. */
  undoPart(changeSet: string, path: string) {
    return this.try(() => post(`${this.path}/rewind`, { changeSet, parts: [{ path }] }));
  }

  handoff(how: 'handoff' | 'extend') {
    return this.try(() => post(`${this.path}/${how}`));
  }
}
