import { expect, test } from 'vitest';
import { boxLabel, consents, firstStep, formsOf, keyed, opensBox, pressed, ruleOf, ruleTextOf } from './choices';
import type { Choice } from './wire';

const choice = (id: string, more: Partial<Choice> = {}): Choice => ({ id, label: id, ...more });
const keys = (all: ReturnType<typeof keyed>) => all.map(({ choice, number, key }) => `${choice.id} ${number}${key ?? ''}`);

test('answers without numbers count, and have no letters', () => {
  const all = keyed({ choices: ['continue', 'skip', 'stop'].map((id) => choice(id)) });
  expect(keys(all)).toEqual(['continue 1', 'skip 2', 'stop 3']);
  expect(pressed(all, 'n')).toBeUndefined();
});

test('what the question says about its keys holds', () => {
  const all = keyed({ choices: [choice('x', { number: 7, key: 'q', confirm: true }), choice('y')] });
  expect(keys(all)).toEqual(['x 7q', 'y 2']);
  expect(pressed(all, 'Q')?.confirms).toBe(true);
  expect(pressed(all, '1')).toBeUndefined();
});

test('an answer that rejects for good makes the opposite rule', () => {
  expect(ruleOf(choice('never', { role: 'reject_always' }), 'allow run_command: x (in /a)')).toBe('deny run_command: x (in /a)');
  expect(ruleOf(choice('always', { role: 'allow_always' }), 'allow run_command: x (in /a)')).toBe('allow run_command: x (in /a)');
});

test('forms of an answer are left for its second step, each with its own rule', () => {
  const rule = { verdict: 'allow' as const, tool: 'run_command', pattern: 'cargo test *', folder: '/a' };
  const all = keyed({ choices: [choice('always', { number: 2 }), choice('always_prefix', { number: 5, key: 'p', variantOf: 'always', rule }), choice('never', { number: 4 })] });
  expect(keys(firstStep(all))).toEqual(['always 2', 'never 4']);
  expect(keys(formsOf(all, 'always'))).toEqual(['always_prefix 5p']);
  expect(formsOf(all, undefined)).toEqual([]);
  expect(pressed(firstStep(all), '5')).toBeUndefined();
  expect(ruleTextOf(formsOf(all, 'always')[0]!.choice)).toBe('allow run_command: cargo test * (in /a)');
  expect(ruleTextOf(choice('x', { rule: { verdict: 'deny', tool: 'run_command', pattern: 'cargo test *' } }))).toBe('deny run_command: cargo test * (everywhere)');
});

test('what an answer lets happen must have been seen, whatever it is called', () => {
  expect(consents(choice('x', { role: 'allow_once' }))).toBe(true);
  expect(consents(choice('x', { role: 'primary' }))).toBe(true);
  expect(consents(choice('x'))).toBe(true);
  expect(consents(choice('x', { role: 'secondary' }))).toBe(false);
  expect(consents(choice('x', { role: 'dismiss' }))).toBe(false);
});

test('a box opens where text is required, or may say why something is rejected', () => {
  expect(opensBox(choice('x', { role: 'secondary', text: 'required' }))).toBe(true);
  expect(opensBox(choice('x', { role: 'reject_once', text: 'optional' }))).toBe(true);
  expect(opensBox(choice('x', { role: 'reject_once', text: 'no' }))).toBe(false);
  expect(opensBox(choice('x', { role: 'allow_once', text: 'optional' }))).toBe(false);
});

test('an answer to a question of the model is not asked for as a command', () => {
  expect(boxLabel({ about: 'question' }, 'other')).toBe('Your answer');
});
