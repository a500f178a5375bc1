import { expect, test } from 'vitest';
import { keyed, pressed, ruleOf } from './choices';

const ask = (kind: string, ...ids: string[]) => keyed({ kind, choices: ids.map((id) => ({ id, label: id })) });
const keys = (all: ReturnType<typeof keyed>) => all.map(({ choice, number, key }) => `${choice.id} ${number}${key ?? ''}`);

test('an answer keeps its keys when another one is missing', () => {
  expect(keys(ask('permission', 'allow', 'always', 'wait', 'never'))).toEqual(['allow 1y', 'always 2a', 'wait 3n', 'never 4']);
  expect(keys(ask('permission', 'allow', 'wait', 'never'))).toEqual(['allow 1y', 'wait 3n', 'never 4']);
  expect(keys(ask('permission', 'allow', 'always', 'skip'))).toEqual(['allow 1y', 'always 2a', 'skip 3n']);
  expect(keys(ask('permission', 'allow', 'other'))).toEqual(['allow 1y', 'other 2']);
});

test('other questions count, and have no letters', () => {
  expect(keys(ask('step', 'continue', 'skip', 'stop'))).toEqual(['continue 1', 'skip 2', 'stop 3']);
  expect(pressed(ask('step', 'continue', 'skip'), 'n')).toBeUndefined();
});

test('what the question says about its keys holds', () => {
  const all = keyed({ kind: 'permission', choices: [{ id: 'x', label: 'X', number: 7, key: 'q', confirm: true }, { id: 'y', label: 'Y' }] });
  expect(keys(all)).toEqual(['x 7q', 'y 2']);
  expect(pressed(all, 'Q')?.confirms).toBe(true);
  expect(pressed(all, '1')).toBeUndefined();
});

test('“never” makes the opposite rule', () => {
  expect(ruleOf('never', 'allow run_command: x (in /a)')).toBe('deny run_command: x (in /a)');
  expect(ruleOf('always', 'allow run_command: x (in /a)')).toBe('allow run_command: x (in /a)');
});
