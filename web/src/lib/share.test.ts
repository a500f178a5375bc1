import { expect, test } from 'vitest';
import { empty, fold } from './fold';
import { asHtml, asMarkdown, fileName } from './share';
import type { Event } from './wire';

/** A conversation of these events. */
function conversation(title: string, text: string, reply: string, more: object[] = []) {
  const shared = { session: 's1', request: 'r1', time: '2026-11-17T10:00:00Z' };
  const events = [
    { ...shared, type: 'session.opened', folder: '/f' },
    { ...shared, type: 'session.titled', title },
    { ...shared, type: 'request.received', text, mode: 'auto' },
    { ...shared, type: 'reply.saved', call: 'c1', message: { role: 'assistant', parts: [{ type: 'text', text: reply }] } },
    ...more.map((one) => ({ ...shared, ...one })),
  ].map((event, at) => ({ ...event, seq: at + 1 }));
  return fold(empty('s1'), events as unknown as Event[]);
}

const run = [
  { type: 'command.started', call: 'c2', command: 'cargo test', cwd: '/f' },
  { type: 'command.finished', call: 'c2', exitCode: 1, preview: '', durationMs: 5 },
  { type: 'change.applied', changeSet: 'x', position: 0, files: [{ path: 'src/a.rs', added: 2, removed: 1 }] },
];

test('Markdown has what was said and done, and quotes the person', () => {
  const view = conversation('Fix a test', '# Not a heading\nplease', 'It is **fixed**.', run);
  expect(asMarkdown(view)).toBe('# Fix a test\n\n## You\n\n> # Not a heading\n> please\n\n## Trimtab\n\nIt is **fixed**.\n\n- Ran `cargo test` (exit code 1)\n- Changed `src/a.rs` (+2 −1)\n');
});

test('a page of HTML holds nothing that runs or loads', () => {
  const hostile = '<script>alert(1)</script>';
  const page = asHtml(conversation(hostile, `${hostile} <img src=x onerror=alert(1)>`, `${hostile}\n\n![x](https://example.org/x.png)\n\n\`\`\`html\n${hostile}\n\`\`\``, run));
  const parsed = new DOMParser().parseFromString(page, 'text/html');
  expect(parsed.querySelectorAll('script, img, link, iframe')).toHaveLength(0);
  expect([...parsed.querySelectorAll('*')].flatMap((node) => node.getAttributeNames()).filter((name) => name.startsWith('on'))).toEqual([]);
  expect(parsed.title).toBe(hostile);
  expect(parsed.querySelector('.you')?.textContent).toContain(hostile);
  expect(parsed.querySelector('pre code')?.textContent).toBe(hostile);
  expect(parsed.querySelector('.done')?.textContent).toContain('cargo test');
});

test('a file is named after the session', () => {
  expect(fileName(conversation('Why does “x/y” fail?', 'a', 'b'), 'md')).toBe('why-does-x-y-fail.md');
  expect(fileName(conversation('???', 'a', 'b'), 'html')).toBe('s1.html');
});
