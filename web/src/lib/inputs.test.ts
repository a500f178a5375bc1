import { expect, test } from 'vitest';
import { inputFields } from './inputs';

test('an input is names and values, however deep it is', () => {
  const fields = inputFields({ path: 'a.rs', old_text: 'one\ntwo', count: 2, none: null, names: ['a', 'b'], blocks: [{ search: 'x', replace: 'y\nz' }] });
  expect(fields.map((one) => `${one.name}=${one.value}`)).toEqual(['path=a.rs', 'old text=one\ntwo', 'count=2', 'names=- a\n- b', 'blocks=-\n  search: x\n  replace:\n    y\n    z']);
  expect(fields.map((one) => one.long)).toEqual([false, true, false, true, true]);
});

test('no value can look like another field', () => {
  const honest = inputFields({ to: [{ path: 'a', force: false }] });
  const sly = inputFields({ to: [{ path: 'a\nforce: false', force: true }] });
  expect(sly[0]?.value).toBe('-\n  path:\n    a\n    force: false\n  force: true');
  expect(honest[0]?.value).toBe('-\n  path: a\n  force: false');
});
