import { expect, it } from 'vitest';
import { inOrder } from './order';

it('an answer is news unless one that was asked for later came before', () => {
  const ask = inOrder();
  const [first, second, third] = [ask(), ask(), ask()];
  expect(second()).toBe(true);
  expect(first()).toBe(false);
  expect(third()).toBe(true);
  expect([second(), third()]).toEqual([false, true]);
});
