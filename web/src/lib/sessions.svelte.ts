// The list of sessions and what each of them does, loaded once for every part of the page that shows it.

import { get, told } from './api';
import { inOrder } from './order';
import type { Given, SessionRow } from './wire';

const EVERY = 10_000;
/** What was just answered or started reaches the list a moment later. */
const MOMENT = 700;

/** The state of each session: of several requests, the one that needs the person counts. */
export function statesOf(jobs: { session: string; state: string }[], asking: { session: string }[]): Record<string, string> {
  const states: Record<string, string> = {};
  for (const job of jobs) if (states[job.session] !== 'needs_user') states[job.session] = job.state;
  for (const one of asking) states[one.session] = 'needs_user';
  return states;
}

/** The same, with what the open session knows of itself, because the list is older. */
export function withOpen(states: Record<string, string>, open: { id: string; state: 'needs_user' | 'running' | 'idle' } | null): Record<string, string> {
  if (!open) return states;
  const { [open.id]: listed, ...others } = states;
  if (open.state !== 'idle') return { ...others, [open.id]: open.state };
  return listed === undefined || listed === 'needs_user' || listed === 'running' ? others : states;
}

class SessionList {
  rows = $state.raw<SessionRow[]>([]);
  private listed = $state.raw<Record<string, string>>({});
  /** The session that the page shows. */
  open = $state.raw<{ id: string; state: 'needs_user' | 'running' | 'idle' } | null>(null);
  readonly states = $derived(withOpen(this.listed, this.open));
  loaded = $state(false);
  trouble = $state('');
  /** The sessions that wait for the person. */
  readonly waiting = $derived(this.rows.filter((row) => this.states[row.id] === 'needs_user'));
  private ask = inOrder();
  private begun = false;

  async load() {
    const isNews = this.ask();
    try {
      const [found, { jobs }, { checkpoints }] = await Promise.all([
        get<Given<'SessionList'>>('/sessions'),
        get<Given<'Jobs'>>('/jobs'),
        get<Given<'OpenCheckpoint'>>('/checkpoints'),
      ]);
      if (!isNews()) return;
      // The task assistant works in no folder. Its conversation is shown with the tasks.
      this.rows = found.sessions.filter((row) => row.folder !== '');
      this.listed = statesOf(jobs, checkpoints);
      this.trouble = '';
    } catch (error) {
      if (!isNews()) return;
      this.trouble = told(error);
    }
    this.loaded = true;
  }

  /** Loads it a moment later and from time to time, until the returned function is called; the first time also at once. */
  follow(): () => void {
    if (!this.begun) void this.load();
    this.begun = true;
    const soon = setTimeout(() => void this.load(), MOMENT);
    const timer = setInterval(() => void this.load(), EVERY);
    return () => {
      clearTimeout(soon);
      clearInterval(timer);
    };
  }
}

export const sessions = new SessionList();
