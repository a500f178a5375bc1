import { expect, it } from 'vitest';
import { cut } from './live';

it('what is whole is read, and the rest waits for more', () => {
  const [sent, rest] = cut('retry: 1000\n\nid: 1\ndata: {"seq":1}\n\n: live\n\nevent: problem\ndata: {}\n\ndata: {"ty');
  expect(sent).toEqual([{}, { data: '{"seq":1}' }, { comment: 'live' }, { event: 'problem', data: '{}' }]);
  expect(rest).toBe('data: {"ty');
});
