import { afterEach, expect, test, vi } from 'vitest';
import { attached, decoded, withAttachments, type Attachment } from './attach';

afterEach(() => vi.unstubAllGlobals());

/** A folder with these files. */
function folder(files: Record<string, string>) {
  vi.stubGlobal('fetch', async (address: string) => {
    const url = new URL(address, 'http://localhost');
    if (url.pathname === '/api/files') return new Response(JSON.stringify({ folder: '/f', files: Object.keys(files), more: false }));
    return new Response(files[url.searchParams.get('path') ?? '']);
  });
}

test('a file that the folder has is named, and one that only has its name is quoted', async () => {
  folder({ 'src/a.py': 'x = 1\n', 'b.py': 'other\n' });
  expect(await attached(new File(['x = 1\n'], 'a.py'), '/one')).toEqual({ is: 'reference', name: 'a.py', path: 'src/a.py' });
  expect(await attached(new File(['y = 2\n'], 'b.py'), '/one')).toEqual({ is: 'text', name: 'b.py', text: 'y = 2\n' });
});

test('a folder that cannot be read leaves the text', async () => {
  vi.stubGlobal('fetch', async () => new Response('{}', { status: 409 }));
  expect(await attached(new File(['hello'], 'n.txt'), '/two')).toEqual({ is: 'text', name: 'n.txt', text: 'hello' });
});

test('images go along, and what is neither text nor image does not', async () => {
  folder({});
  expect(await attached(new File([new Uint8Array([1, 2, 3])], 'p.png', { type: 'image/png' }), '/three')).toEqual({ is: 'image', name: 'p.png', mediaType: 'image/png', data: 'AQID' });
  expect(await attached(new File([new Uint8Array([0, 255])], 'x.bin'), '/three')).toMatch(/not a text file/);
  expect(await attached(new File(['a'.repeat(300 * 1024)], 'x.log'), '/three')).toMatch(/larger than 256 KB/);
  expect(await attached(new File([new Uint8Array(6 << 20)], 'x.png', { type: 'image/png' }), '/three')).toMatch(/larger than 5 MB/);
  expect(decoded(new Uint8Array([0xff, 0xfe]))).toBeNull();
});

test('references stand in the words, and texts after them in a fence that they cannot end', () => {
  const all: Attachment[] = [
    { is: 'reference', name: 'a.py', path: 'src/a.py' },
    { is: 'text', name: 'n.md', text: 'before\n```js\ncode\n```\n' },
  ];
  expect(withAttachments('Look', all)).toBe('Look @src/a.py\n\nn.md:\n````\nbefore\n```js\ncode\n```\n````');
  expect(withAttachments('Look at @src/a.py', all.slice(0, 1))).toBe('Look at @src/a.py');
  expect(withAttachments('', all.slice(0, 1))).toBe('@src/a.py');
});
