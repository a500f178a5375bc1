// The HTTP interface, and nothing of the page.

import type { Given } from './wire';

export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

const OFFLINE = 'The server does not answer.';

export async function call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/api${path}`, {
      method,
      credentials: 'same-origin',
      headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Failure(0, 'offline', OFFLINE, 'Is `trimtab serve` still running? Your text is kept.');
  }
  const text = await response.text();
  let value: unknown = null;
  try {
    value = text === '' ? null : JSON.parse(text);
  } catch {
    value = null;
  }
  if (response.ok) return value as T;
  throw failure(response.status, value);
}

/** Tells the page that its login is gone. */
const LOGGED_OUT = 'trimtab:logged-out';
export function whenLoggedOut(act: () => void): () => void {
  addEventListener(LOGGED_OUT, act);
  return () => removeEventListener(LOGGED_OUT, act);
}

/** Some routes answer `{error: "code"}`, all others `{error: {code, message, hint}}`. */
export function failure(status: number, value: unknown): Failure {
  // The server's own sentence is for programs.
  if (status === 401) {
    dispatchEvent(new Event(LOGGED_OUT));
    return new Failure(status, 'unauthorized', 'You are logged out.');
  }
  const error = (value as { error?: string | Given<'ErrorBody'>['error'] } | null)?.error;
  if (typeof error === 'string') {
    const said = value as { message?: string; detail?: unknown };
    const detail = typeof said.detail === 'string' ? said.detail : undefined;
    return new Failure(status, error, said.message ?? detail ?? error.replaceAll('_', ' '));
  }
  if (error) return new Failure(status, error.code, error.message, error.hint);
  return new Failure(status, 'error', `The server answered with status ${status}.`);
}

/** A stored text, as it is. */
export async function stored(name: string): Promise<string> {
  const response = await fetch(`/api/refs/${encodeURIComponent(name)}`, { credentials: 'same-origin' });
  if (response.ok) return response.text();
  throw failure(response.status, await response.json().catch(() => null));
}

export const get = <T>(path: string) => call<T>('GET', path);
export const post = <T>(path: string, body: unknown = {}, headers?: Record<string, string>) => call<T>('POST', path, body, headers);

export function told(error: unknown): string {
  if (error instanceof Failure) return error.hint ? `${error.message} ${error.hint}` : error.message;
  return String(error);
}

/** Does things, and tells what is in the way of each; nothing, once one goes well. Says whether it did. */
export const attempting = (tell: (trouble: string) => void) => async (act: () => Promise<unknown>): Promise<boolean> => {
  try {
    await act();
    tell('');
    return true;
  } catch (error) {
    tell(told(error));
    return false;
  }
};
