import { expect, test } from 'vitest';
import { draw } from './math';

async function drawn(tex: string, display = false) {
  const node = document.createElement('span');
  node.textContent = tex;
  await draw(node, tex, display);
  return node;
}

test('a formula becomes MathML without styles', async () => {
  const node = await drawn('\\frac{a}{b}');
  expect(node.querySelector('math mfrac')).not.toBeNull();
  expect(node.innerHTML).not.toMatch(/style=/);
});

test('what cannot be read stays as it was written', async () => {
  expect((await drawn('\\frac{a')).textContent).toBe('\\frac{a');
  expect((await drawn('x'.repeat(5_000))).querySelector('math')).toBeNull();
});

test('a formula neither links nor loads nor runs away', async () => {
  for (const tex of ['\\href{javascript:alert(1)}{x}', '\\includegraphics{https://example.org/x.png}', '\\htmlStyle{position:fixed}{x}']) {
    expect((await drawn(tex)).innerHTML).not.toMatch(/<a |<img|style=/);
  }
  expect((await drawn('\\def\\a{\\a\\a}\\a')).querySelector('math')).toBeNull();
});
