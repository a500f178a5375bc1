// What is done with a whole session.

import { call, get, post } from './api';
import { download } from './download';
import type { View } from './fold';
import { newKey } from './key';
import { here } from './router.svelte';
import { asHtml, asMarkdown, fileName } from './share';

const path = (id: string) => `/sessions/${encodeURIComponent(id)}`;

export async function exported(id: string) {
  const all = await get(`${path(id)}/export`);
  download(`${id}.json`, new Blob([JSON.stringify(all, null, 2)], { type: 'application/json' }));
}

/** The conversation for other people. */
export async function shared(view: View, as: 'md' | 'html') {
  const [text, type] = as === 'md' ? [asMarkdown(view), 'text/markdown'] : [asHtml(view), 'text/html'];
  download(fileName(view, as), new Blob([text], { type }));
}

/** A copy with everything up to now; this one stays as it is. */
export async function fork(id: string) {
  const made = await post<{ session: string }>(`${path(id)}/fork`, {}, { 'idempotency-key': newKey() });
  here.go({ view: 'session', id: made.session, panel: 'chat' });
}

export async function forget(id: string) {
  await call('DELETE', path(id));
  here.go({ view: 'home' });
}
