import { afterEach, expect, test, vi } from 'vitest';
import { ask, failed, inWords, reconciled, type Annotated } from './assistant';

class FakeSource {
  static last: FakeSource;
  closed = false;
  private heard = new Map<string, ((event: { data: string }) => void)[]>();
  constructor(readonly url: string) {
    FakeSource.last = this;
  }
  addEventListener(name: string, act: (event: { data: string }) => void) {
    this.heard.set(name, [...(this.heard.get(name) ?? []), act]);
  }
  close() {
    this.closed = true;
  }
  send(name: string, data: string) {
    for (const act of this.heard.get(name) ?? []) act({ data });
  }
}
afterEach(() => vi.unstubAllGlobals());

test('the stream is asked for with the message, the transcript, the mode and the question before', () => {
  vi.stubGlobal('EventSource', FakeSource);
  ask('hi', [], 'auto', { question: 'Which?' }, {});
  const url = new URL(FakeSource.last.url, 'http://x');
  expect(Object.fromEntries(url.searchParams)).toEqual({ message: 'hi', transcript: '[]', mode: 'auto', clarify: '{"question":"Which?"}' });
});

test('what is not said is a plan without anything before it', () => {
  vi.stubGlobal('EventSource', FakeSource);
  ask('hi');
  expect(Object.fromEntries(new URL(FakeSource.last.url, 'http://x').searchParams)).toEqual({ message: 'hi', transcript: '[]', mode: 'plan' });
});

test('the result counts when the stream is done, and bad events are passed over', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const summaries: string[] = [];
  const asking = ask('hi', [], 'plan', null, { summary: (text) => summaries.push(text) });
  const source = FakeSource.last;
  source.send('summary', '{"text":"Planning…"}');
  source.send('summary', 'not json');
  source.send('summary', '{"text":""}');
  source.send('result', '{"text":"Done","operations":[]}');
  source.send('done', 'true');
  expect(await asking.result).toEqual({ text: 'Done', operations: [] });
  expect(summaries).toEqual(['Planning…']);
  expect(source.closed).toBe(true);
});

test('a stream that ends without a result gives an empty one', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const asking = ask('hi', [], 'plan', null, {});
  FakeSource.last.send('done', 'true');
  expect(await asking.result).toEqual({ text: '', operations: [] });
});

test('a broken stream falls back to one plain request with the same content', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => new Response('{"text":"Plain","operations":[]}', { status: 200 }));
  vi.stubGlobal('fetch', fetched);
  const asking = ask('hi', [{ role: 'user', text: 'x' }], 'auto', { question: 'Which?' }, {});
  FakeSource.last.send('error', '');
  expect((await asking.result).text).toBe('Plain');
  expect(fetched).toHaveBeenCalledTimes(1);
  expect(JSON.parse(String(fetched.mock.calls[0]?.[1].body))).toEqual({
    message: 'hi', transcript: [{ role: 'user', text: 'x' }], options: { streamSummary: false, mode: 'auto', clarify: { question: 'Which?' } },
  });
});

test('what is too long for an address is posted first and followed by its name', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => new Response('{"job":"r1"}', { status: 202 }));
  vi.stubGlobal('fetch', fetched);
  const asking = ask('x'.repeat(7000), [], 'plan', null, {});
  await vi.waitFor(() => expect(FakeSource.last.url).toBe('/api/assistant/message/stream?job=r1'));
  expect(fetched.mock.calls[0]?.[0]).toBe('/api/assistant/jobs');
  FakeSource.last.send('result', '{"text":"Done","operations":[]}');
  FakeSource.last.send('done', 'true');
  expect((await asking.result).text).toBe('Done');
});

test('what is behind "Show more" can be chosen too', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const offered: unknown[][] = [];
  ask('hi', [], 'auto', null, { clarify: (_question, options, sections) => offered.push([...options.map((one) => one.id), ...sections]) });
  FakeSource.last.send('clarify', '{"question":"Which?","options":[{"id":1,"title":"a"}],"moreOptions":[{"id":2,"title":"b"}],"sections":["ids","date"]}');
  expect(offered).toEqual([[1, 2, 'ids', 'date']]);
});

test('a question is passed on from the stream and from the plain reply, and an empty one is none', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const asked: string[] = [];
  const clarify = (question: string) => asked.push(question);
  const streamed = ask('hi', [], 'auto', null, { clarify });
  FakeSource.last.send('clarify', '{"question":""}');
  FakeSource.last.send('clarify', '{"question":"Which call?"}');
  FakeSource.last.send('done', 'true');
  await streamed.result;
  expect(asked).toEqual(['Which call?']);

  const replies = ['{"requiresClarification":true,"question":"Which day?"}', '{"requiresClarification":true,"question":7}', '{"question":"Not asked?"}'];
  vi.stubGlobal('fetch', async () => new Response(replies.shift(), { status: 200 }));
  for (let n = 0; n < 3; n++) {
    const plain = ask('hi', [], 'auto', null, { clarify });
    FakeSource.last.send('error', '');
    await plain.result;
  }
  expect(asked).toEqual(['Which call?', 'Which day?']);
});

test('without a stream the message is posted, with its mode and what was said before', async () => {
  vi.stubGlobal('EventSource', class {
    constructor() {
      throw new Error('no streams here');
    }
  });
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => new Response('{"text":"Plain","operations":[]}', { status: 200 }));
  vi.stubGlobal('fetch', fetched);
  expect((await ask('hi', [{ role: 'user', text: 'x' }], 'chat', null, {}).result).text).toBe('Plain');
  expect(JSON.parse(String(fetched.mock.calls[0]?.[1].body))).toEqual({ message: 'hi', transcript: [{ role: 'user', text: 'x' }], options: { streamSummary: false, mode: 'chat' } });
});

test('words go on coming until the end, also after the list of operations', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  const heard: string[] = [];
  const asking = ask('hi', [], 'plan', null, { summary: (text) => heard.push(text), ops: (version) => heard.push(`ops ${version}`) });
  for (const [name, data] of [['summary', '{"text":"Planning…"}'], ['ops', '{"version":1,"operations":[]}'], ['summary', '{"text":"One"}'], ['summary', '{"text":"One change."}']] as const) FakeSource.last.send(name, data);
  FakeSource.last.send('done', 'true');
  await asking.result;
  expect(heard).toEqual(['Planning…', 'ops 1', 'One', 'One change.']);
});

test('when both fail the error says so', async () => {
  vi.stubGlobal('EventSource', FakeSource);
  vi.stubGlobal('fetch', async () => new Response('{"error":"assistant_failure"}', { status: 502 }));
  const asking = ask('hi', [], 'auto', null, {});
  FakeSource.last.send('error', '');
  await expect(asking.result).rejects.toThrow('sse_error');
});

const op = (op: string, id: number, errors: string[] = []): Annotated => ({ op: { op, id }, errors });

test('ticks survive a newer version of the list', () => {
  const before = { of: [op('delete', 1), op('update', 2), op('update', 3, ['bad'])], ticked: [false, true, false] };
  expect(reconciled(before, [op('update', 2), op('delete', 1), op('complete', 9), op('update', 4, ['bad'])])).toEqual([true, false, true, false]);
});

test('what was repaired is ticked, because nobody could have left it out', () => {
  const before = { of: [op('update', 3, ['bad']), op('delete', 1)], ticked: [false, false] };
  expect(reconciled(before, [op('update', 3), op('delete', 1)])).toEqual([true, false]);
});

test('an operation is readable', () => {
  const titles = new Map([[4, 'Call Ann']]);
  expect(inWords({ op: 'create', title: 'Milk', scheduledFor: '2026-11-16', priority: 'high' }, titles)).toBe('Create “Milk” (when: Mon, Nov 16, 2026; priority: high)');
  expect(inWords({ op: 'complete', id: 4 }, titles)).toBe('Complete “Call Ann”');
  expect(inWords({ op: 'complete', id: 4, completed: false }, titles)).toBe('Reopen “Call Ann”');
  expect(inWords({ op: 'update', id: 4, title: 'Call Bob' }, titles)).toBe('Update “Call Ann” (title: Call Bob)');
  expect(inWords({ op: 'bulk_update', where: { priority: 'high', scheduled_range: { from: '2026-11-16', to: '2026-11-17' } }, set: { tags: ['soon'] } }, titles)).toBe(
    'Update tasks with priority: high; when: Mon, Nov 16, 2026 to Tue, Nov 17, 2026 (tags: soon)',
  );
  expect(inWords({ op: 'bulk_delete', where: { ids: [1, 2] } }, titles)).toBe('Delete tasks with #1 and #2');
});

test('operations that were not applied come with a reason', () => {
  const results = [{ ok: true, op: { op: 'update', id: 1 } }, { ok: false, op: { op: 'delete', id: 2 }, error: 'not_found' }, { ok: false, op: { op: 'x' }, error: 'odd' }];
  expect(failed(results)).toEqual([
    { op: { op: 'delete', id: 2 }, errors: ['This task no longer exists.'] },
    { op: { op: 'x' }, errors: ['odd'] },
  ]);
});
