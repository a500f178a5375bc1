// Messages on their way: sent, and not in the session's events yet. The server names the request that a message became,
// and the events name it too; whichever comes first.

export interface Outgoing {
  text: string;
  key: string;
  /** The request that it became, once the server has said so. */
  request?: string;
}

/** The server has taken a message in as this request. */
export function accepted(waiting: Outgoing[], key: string, request: string): Outgoing[] {
  return waiting.map((one) => (one.key === key ? { ...one, request } : one));
}

/** Those that the session has not told of. */
export function arrived(waiting: Outgoing[], heard: ReadonlySet<string>): Outgoing[] {
  return waiting.filter((one) => one.request === undefined || !heard.has(one.request));
}
