// Files that a person adds to a message: images go along, a text file of the folder is named, and any other text file is
// quoted.

import { fileAt, filesOf } from './files';
import type { Picture } from './wire';

export type Attachment =
  | ({ is: 'image'; name: string } & Picture)
  /** Text that is not in the folder. */
  | { is: 'text'; name: string; text: string }
  /** A file of the folder. */
  | { is: 'reference'; name: string; path: string };

/** As the server has it. */
const LARGEST_IMAGE = 5 * 1024 * 1024;
const LARGEST_TEXT = 256 * 1024;
/** Files of the same name that are compared. */
const MOST_COMPARED = 5;
const KINDS = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

/** The attachment that a file becomes, or a sentence that says why it cannot be one. */
export async function attached(file: File, folder: string): Promise<Attachment | string> {
  const mediaType = KINDS.find((kind) => kind === file.type);
  if (mediaType) {
    if (file.size > LARGEST_IMAGE) return `${file.name} is larger than 5 MB.`;
    return { is: 'image', name: file.name, mediaType, data: base64(new Uint8Array(await file.arrayBuffer())) };
  }
  if (file.size > LARGEST_TEXT) return `${file.name} is larger than 256 KB. Put it into the folder and name it with @.`;
  const text = decoded(new Uint8Array(await file.arrayBuffer()));
  if (text === null) return `${file.name} is not a text file or an image (PNG, JPEG, GIF, or WebP).`;
  const path = await inFolder(file.name, text, folder);
  return path === null ? { is: 'text', name: file.name, text } : { is: 'reference', name: file.name, path };
}

function base64(bytes: Uint8Array): string {
  let letters = '';
  for (let at = 0; at < bytes.length; at += 0x8000) letters += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(letters);
}

/** The text of a file, or nothing if it is not text. */
export function decoded(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Where the folder has this very file. A browser tells a file's name and not its place. */
async function inFolder(name: string, text: string, folder: string): Promise<string | null> {
  try {
    const { files } = await filesOf(folder);
    const alike = files.filter((path) => path === name || path.endsWith(`/${name}`)).slice(0, MOST_COMPARED);
    for (const path of alike) if ((await (await fileAt(folder, path)).text()) === text) return path;
  } catch {
    // The text goes along instead.
  }
  return null;
}

/** The message with what was attached as text: references in its words, other texts quoted after them. */
export function withAttachments(text: string, all: Attachment[]): string {
  const named = all.flatMap((one) => (one.is === 'reference' && !text.includes(`@${one.path}`) ? [`@${one.path}`] : []));
  const quoted = all.flatMap((one) => (one.is === 'text' ? [quote(one.name, one.text)] : []));
  return [[text.trim(), ...named].filter(Boolean).join(' '), ...quoted].filter(Boolean).join('\n\n');
}

function quote(name: string, text: string): string {
  // A fence that is longer than any in the text.
  const longest = Math.max(2, ...[...text.matchAll(/^`{3,}/gm)].map((found) => found[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}
