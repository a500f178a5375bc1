import { expect, test } from 'vitest';
import { subject } from './permission';

test('the subject of a permission is not a question', () => {
  expect(subject("Run this command? ls 'a? b'")).toBe("ls 'a? b'");
  expect(subject('Delete a.txt?')).toBe('Delete a.txt');
});
