// The files of the folder that a session works in.

import { failure, get } from './api';
import type { Given } from './wire';

/** A list is good for so long; files come and go while Trimtab works. */
const FRESH = 15_000;
const lists = new Map<string, { time: number; names: Promise<Given<'FileNames'>> }>();

/** The names of the files in a folder. Fails where the folder is not trusted. */
export function filesOf(folder: string): Promise<Given<'FileNames'>> {
  const known = lists.get(folder);
  if (known && Date.now() - known.time < FRESH) return known.names;
  const query = folder ? `?${new URLSearchParams({ folder })}` : '';
  const names = get<Given<'FileNames'>>(`/files${query}`);
  lists.set(folder, { time: Date.now(), names });
  names.catch(() => lists.delete(folder));
  return names;
}

const queryOf = (folder: string, path: string) => new URLSearchParams({ ...(folder ? { folder } : {}), path });

/** Where a frame finds an HTML file as a page without scripts and network. */
export const previewOf = (folder: string, path: string): string => `/api/files/preview?${queryOf(folder, path)}`;

/** What can be named with an `@`: files, agents, and resources of MCP servers, with what they are. */
export async function mentionsOf(folder: string): Promise<{ files: string[]; notes: Map<string, string> }> {
  const query = folder ? `?${new URLSearchParams({ folder })}` : '';
  const [{ files }, { resources }, { extensions }] = await Promise.all([
    filesOf(folder),
    get<Given<'ResourceNames'>>(`/resources${query}`).catch(() => ({ resources: [] })),
    get<Given<'ExtensionList'>>(`/extensions${query}`).catch(() => ({ extensions: [] })),
  ]);
  // One that waits for its approval cannot be called.
  const agents = extensions.filter((one) => one.kind === 'agent' && one.state === 'loaded').map((one) => [`agent-${one.name}`, one.description || 'agent'] as const);
  const notes = new Map([...agents, ...resources.map((one) => [one.mention, one.description ?? one.name] as const)]);
  return { files: [...files, ...notes.keys()], notes };
}

/** A file as the server has it. */
export async function fileAt(folder: string, path: string): Promise<Blob> {
  const response = await fetch(`/api/files/content?${queryOf(folder, path)}`, { credentials: 'same-origin' });
  if (response.ok) return response.blob();
  throw failure(response.status, await response.json().catch(() => null));
}
