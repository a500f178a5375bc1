// Pictures that were made: a fold over their events, each in the place in which it was wished for.

import type { Problem } from './wire';

export interface MadeImage {
  id: string;
  /** The request in whose turn it is shown. */
  turn: string;
  call: string;
  originalPrompt: string;
  revisedPrompt?: string;
  ref?: string;
  mediaType?: string;
  selected: boolean;
  problem?: Problem;
}

export type ImageEvent =
  | {
      type: 'image.made';
      image: string;
      call: string;
      originalPrompt: string;
      revisedPrompt?: string;
      ref: string;
      mediaType: string;
      costUsd: number;
    }
  | { type: 'image.failed'; image?: string; call: string; originalPrompt: string; error: Problem; retryInMs?: number }
  | { type: 'image.selected'; images: string[]; selected: boolean }
  | { type: 'image.planned'; model: string; pictures: { prompt: string; count: number }[]; priceUsd: number }
  | { type: 'image.saving'; images: string[]; folder: string };

/** `c3t12` comes after `c3t2`, and before `c12t1`. */
const order = (call: string): number[] => call.split(/\D+/).map(Number);
function before(a: MadeImage, b: MadeImage): number {
  const [left, right] = [order(a.call), order(b.call)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference) return difference;
  }
  return 0;
}

/** The gallery after an event; the same one if nothing changed. */
export function hang(gallery: MadeImage[], event: ImageEvent, request: string | undefined): MadeImage[] {
  switch (event.type) {
    case 'image.made':
    case 'image.failed': {
      const id = event.image;
      if (id === undefined) return gallery;
      const there = gallery.find((image) => image.id === id);
      // What is there stays where a new one could not be made in its place.
      if (event.type === 'image.failed' && there && !there.problem) return gallery;
      const { originalPrompt, call } = event;
      const place = there ?? { turn: request ?? '', call, selected: false };
      const image: MadeImage =
        event.type === 'image.made'
          ? { ...kept(place), id, originalPrompt, revisedPrompt: event.revisedPrompt, ref: event.ref, mediaType: event.mediaType }
          : { ...kept(place), id, originalPrompt, problem: event.error };
      return there ? gallery.map((one) => (one.id === id ? image : one)) : [...gallery, image].sort(before);
    }
    case 'image.selected': {
      const chosen = new Set(event.images);
      return gallery.map((image) => (chosen.has(image.id) ? { ...image, selected: event.selected } : image));
    }
    default:
      return gallery;
  }
}

const kept = ({ turn, call, selected }: Pick<MadeImage, 'turn' | 'call' | 'selected'>) => ({ turn, call, selected });
