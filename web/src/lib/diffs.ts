// The diffs of applied change sets, each loaded once.

import { get } from './api';
import type { Given } from './wire';

export type FileDiff = Given<'FileDiff'>;

const loaded = new Map<string, Promise<FileDiff[]>>();
/** A page that stays open for days keeps the diffs that were looked at last. */
const MOST = 200;

export function diffsOf(session: string, changeSet: string): Promise<FileDiff[]> {
  const key = `${session}/${changeSet}`;
  const known = loaded.get(key);
  if (known) return known;
  const path = `/sessions/${encodeURIComponent(session)}/diff?changeSet=${encodeURIComponent(changeSet)}`;
  const found = get<Given<'Diffs'>>(path).then((diffs) => diffs.files);
  // A failure is not kept, so that the next look tries again.
  found.catch(() => loaded.delete(key));
  loaded.set(key, found);
  const oldest = loaded.keys().next().value;
  if (loaded.size > MOST && oldest !== undefined) loaded.delete(oldest);
  return found;
}
