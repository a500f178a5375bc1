// How far the steps of the work are.

export type State = 'open' | 'running' | 'done' | 'skipped' | 'failed';
export interface Line {
  text: string;
  state: State;
  note?: string;
}
/** A state that the server has words of its own for. */
export function stateOf(status: string | undefined): State {
  if (status === 'done' || status === 'completed') return 'done';
  if (status === 'needs_user') return 'running';
  if (status === 'stopped') return 'skipped';
  return status === 'running' || status === 'skipped' || status === 'failed' ? status : 'open';
}
