import { expect, test } from 'vitest';
import { permission } from './permitted';
import type { Choice } from './wire';

const choices = [
  { id: 'allow', label: 'Allow this time', role: 'allow_once' },
  { id: 'never', label: 'Never allow', role: 'reject_always' },
  { id: 'odd', label: 'Something else' },
] as Choice[];

test('says in a few words what was answered, and who answered', () => {
  expect(permission({ choices, resolved: { choice: 'allow', by: 'user' } })).toBe('Allowed by you');
  expect(permission({ choices, resolved: { choice: 'never', by: 'user' } })).toBe('Never allowed by you');
  expect(permission({ choices, resolved: { choice: 'allow', by: 'client' } })).toBe('Allowed by client');
  expect(permission({ choices, resolved: { choice: 'odd', by: 'user' } })).toBe('Something else (you)');
  expect(permission({ choices })).toBe('');
});
