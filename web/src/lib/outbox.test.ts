import { expect, test } from 'vitest';
import { accepted, arrived, type Outgoing } from './outbox';

const two: Outgoing[] = [
  { text: 'Run the tests', key: 'a' },
  { text: 'Run the tests', key: 'b' },
];

test('one of two equal messages does not clear the other', () => {
  const left = arrived(accepted(two, 'a', 'r1'), new Set(['r1']));
  expect(left.map((one) => one.key)).toEqual(['b']);
});

test('a message has arrived whether the server or the session tells of it first', () => {
  const heard = new Set(['r2']);
  expect(arrived(two, heard)).toEqual(two);
  expect(arrived(accepted(two, 'b', 'r2'), heard).map((one) => one.key)).toEqual(['a']);
  const told = accepted(two, 'b', 'r3');
  expect(arrived(told, heard)).toEqual(told);
  expect(arrived(told, new Set(['r3'])).map((one) => one.key)).toEqual(['a']);
});
