import { expect, test } from 'vitest';
import { Growing, plain, read } from './markdown';

const html = (text: string) => read(text).map((block) => (block.is === 'html' ? block.html : block.is === 'math' ? block.text : `[${block.language}] ${block.text}`)).join('');

test('raw HTML is text', () => {
  expect(html('a <script>alert(1)</script> <img src=x onerror=alert(1)>')).not.toMatch(/<script|<img/);
  expect(html('<iframe src="https://example.org"></iframe>')).toContain('&lt;iframe');
});

test('formulas may lower and raise words, and nothing else comes with that', () => {
  expect(html('H<sub>2</sub>O and x<sup>2</sup>')).toContain('H<sub>2</sub>O and x<sup>2</sup>');
  expect(html('<sub onclick=alert(1)>2</sub>')).not.toContain('<sub onclick');
  expect(html('<subject>')).toContain('&lt;subject&gt;');
});

test('columns of tables are aligned as they say', () => {
  expect(html('| a | b |\n|---|--:|\n| 1 | 2 |')).toContain('<td align="right">2</td>');
});

test('addresses are of the web or no addresses', () => {
  expect(html('[x](javascript:alert(1))')).not.toContain('href');
  expect(html('[x](data:text/html,hi)')).not.toContain('href');
  expect(html('[x](/relative)')).not.toContain('href');
  expect(html('[x](https://example.org/a)')).toContain('href="https://example.org/a"');
  expect(html('[x](https://example.org/a)')).toContain('rel="noopener noreferrer nofollow"');
});

test('pictures are never loaded', () => {
  const shown = html('![alt](https://example.org/p.png)');
  expect(shown).not.toContain('<img');
  expect(shown).toContain('alt');
});

test('a table right after a list is a table, and code stays as it is', () => {
  expect(html('- one\n- two\n| a | b |\n|---|---|\n| 1 | 2 |')).toContain('<table');
  expect(html('Words\n| a | b |\n|:--|--:|\n| 1 | 2 |')).toContain('<table');
  expect(html('```\nx\n| a | b |\n|---|---|\n```')).toContain('x\n| a | b |');
});

test('however it is cut, growing text comes to the same blocks', () => {
  const text = '# One\n\nA *few* words.\n\n- a\n- b\n\n  more\n\n1. x\n2. y\n\n```rust\nfn main() {}\n\n// end\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nlast';
  const whole = read(text);
  for (const size of [1, 3, 7, 20]) {
    const growing = new Growing();
    for (let at = size; at < text.length; at += size) growing.read(text.slice(0, at));
    expect(growing.read(text)).toEqual(whole);
  }
});

test('a fence that is still open says so', () => {
  expect(read('```js\nlet a').at(-1)).toMatchObject({ is: 'code', language: 'js', open: true });
  expect(read('```js\nlet a\n```').at(-1)).toMatchObject({ open: false });
});

test('in a line, words stand without their marks, and without code and tables', () => {
  expect(plain('Done. **Two lines** of `a.rs` differ.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n\n- one\n')).toBe('Done. Two lines of a.rs differ. one');
  expect(plain('```\nonly code\n```')).toContain('only code');
});

test('the ends of lines stay', () => {
  expect(html('🖥 one\n🖥 two')).toContain('🖥 one<br>🖥 two');
});

test('the box of a task stands in the place of its bullet', () => {
  const [list] = read('- [x] done\n- plain');
  expect(list?.is === 'html' && String(list.html)).toContain('<li class="task">☑ done</li>');
  expect(list?.is === 'html' && String(list.html)).toContain('<li>plain</li>');
});

const formulas = (text: string) => [...html(text).matchAll(/<span class="math">(.*?)<\/span>/g)].map((found) => found[1]);

test('formulas among words keep every sign', () => {
  expect(formulas('The total $q_i\\,p_i$ and \\(a_1 * b_2 * c\\) and $$x^2$$.')).toEqual(['q_i\\,p_i', 'a_1 * b_2 * c', 'x^2']);
  expect(formulas('with $<script>$')).toEqual(['&lt;script&gt;']);
});

test('money and variables are no formulas', () => {
  for (const text of ['$5 and $10', '$5-$10', 'from $HOME/$USER', 'costs 5$ or 6$', '`$x$`', 'a $ b $ c', '$20 to $30 or 3$']) expect(formulas(text), text).toEqual([]);
});

test('formulas on lines of their own are blocks, once they end', () => {
  expect(read('Before\n\n$$\n\\sum_i x_i\n$$\n\nafter').map((block) => block.is)).toEqual(['html', 'math', 'html']);
  expect(read('\\[ a = b \\]')[0]).toMatchObject({ is: 'math', text: 'a = b' });
  expect(read('$$\nx').map((block) => block.is)).toEqual(['html']);
});
