import { expect, test } from 'vitest';
import { Failure } from './api';
import { confirmed } from './confirmed';

const refusing = (codes: (string | undefined)[], right: string) => async (code?: string) => {
  codes.push(code);
  if (code === undefined) throw new Failure(409, 'confirm', 'Needs a code.');
  if (code !== right) throw new Failure(409, 'wrong_code', 'Wrong.');
};

test('a code is asked for until it is right', async () => {
  const codes: (string | undefined)[] = [];
  const asked: string[] = [];
  const given = ['nope', 'right'];
  const done = await confirmed(refusing(codes, 'right'), async (why) => {
    asked.push(why);
    return given.shift() ?? null;
  });
  expect(done).toBe(true);
  expect(codes).toEqual([undefined, 'nope', 'right']);
  expect(asked).toEqual(['Needs a code.', 'Wrong.']);
});

test('without a code nothing is done, and other failures are told', async () => {
  const codes: (string | undefined)[] = [];
  expect(await confirmed(refusing(codes, 'right'), async () => null)).toBe(false);
  expect(codes).toEqual([undefined]);
  const remote = async () => {
    throw new Failure(409, 'remote', 'Only on the machine itself.');
  };
  await expect(confirmed(remote, async () => 'x')).rejects.toThrow('Only on the machine itself.');
});
