import { expect, test } from 'vitest';
import { hang, type ImageEvent, type MadeImage } from './gallery';

const made = (image: string, call: string, ref: string): ImageEvent => ({
  type: 'image.made',
  image,
  call,
  originalPrompt: image,
  ref,
  mediaType: 'image/png',
  costUsd: 0.07,
});
const error = { kind: 'refused' as const, message: 'No.' };

test('pictures hang in the order in which they were wished for', () => {
  let gallery: MadeImage[] = [];
  for (const [image, call] of [['c', 'c1t10'], ['a', 'c1t1'], ['b', 'c1t2'], ['d', 'c10t1']] as const) gallery = hang(gallery, made(image, call, image), 'r1');
  expect(gallery.map((image) => image.id)).toEqual(['a', 'b', 'c', 'd']);
});

test('a new picture takes the place of the old one, and a failed one does not', () => {
  let gallery = hang(hang([], made('a', 'c1t1', 'one'), 'r1'), made('b', 'c1t2', 'two'), 'r1');
  gallery = hang(gallery, { type: 'image.selected', images: ['a'], selected: true }, undefined);
  gallery = hang(gallery, made('a', 'c2t1', 'three'), 'r2');
  expect(gallery.map((image) => [image.id, image.ref, image.turn, image.selected])).toEqual([
    ['a', 'three', 'r1', true],
    ['b', 'two', 'r1', false],
  ]);
  expect(hang(gallery, { type: 'image.failed', image: 'b', call: 'c3t1', originalPrompt: 'x', error }, 'r3')).toBe(gallery);
});
