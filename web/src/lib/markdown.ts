// Markdown of models, which is hostile until it is made harmless: raw HTML but `sub` and `sup` is shown as text, pictures
// become links, addresses are only of the web, and what is left goes through a sanitiser all the same.

import DOMPurify from 'dompurify';
import { Marked, type Token, type TokenizerAndRendererExtension } from 'marked';
import { visible } from './visible';

export type Block = { is: 'html'; raw: string; html: string } | { is: 'math'; raw: string; text: string } | { is: 'code'; raw: string; language: string; text: string; open: boolean };

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escape = (text: string) => text.replace(/[&<>"']/g, (one) => escapes[one] as string);

function address(href: string): string | null {
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** `$$ … $$` or `\[ … \]` on lines of its own. */
const formulaBlock: TokenizerAndRendererExtension = {
  name: 'formulaBlock',
  level: 'block',
  start: (text) => text.match(/^ {0,3}(?:\$\$|\\\[)/m)?.index,
  tokenizer(text) {
    const found = /^ {0,3}(?:\$\$([^]+?)\$\$|\\\[([^]+?)\\\])[ \t]*(?:\n+|$)/.exec(text);
    const words = (found?.[1] ?? found?.[2] ?? '').trim();
    return found && words && !words.includes('\n\n') ? { type: 'formulaBlock', raw: found[0], text: words } : undefined;
  },
  renderer: ({ text }) => formula(String(text)),
};

/** `$ … $`, `$$ … $$`, or `\( … \)` among words. An amount of money is none: `$5 or $10`. */
const formulaInline: TokenizerAndRendererExtension = {
  name: 'formulaInline',
  level: 'inline',
  start: (text) => text.match(/\$|\\\(/)?.index,
  tokenizer(text) {
    const found = /^(?:\$\$(\S[^$]*?)\$\$|\$(?!\s)((?:\\.|[^$\\\n])*?[^\s$])\$(?![\w$])|\\\((.+?)\\\))/.exec(text);
    const words = (found?.[1] ?? found?.[2] ?? found?.[3] ?? '').trim();
    const isAmount = found?.[2] !== undefined && /^\d[\d.,]*(?:\s|$)/.test(words);
    return found && words && !isAmount ? { type: 'formulaInline', raw: found[0], text: words } : undefined;
  },
  renderer: ({ text }) => formula(String(text)),
};

/** A formula before it is drawn: its text. */
const formula = (tex: string) => `<span class="math">${escape(visible(tex))}</span>`;

const marked = new Marked({
  gfm: true,
  // Who talks rather than sets type means the ends of their lines.
  breaks: true,
  extensions: [formulaBlock, formulaInline],
  renderer: {
    // Of HTML, only what lowers or raises words, which models write in formulas.
    html: ({ text }) => (/^<\/?su[bp]>$/i.test(text) ? text : escape(text)),
    // Code may be a command, and is read as one.
    codespan: ({ text }) => `<code>${escape(visible(text))}</code>`,
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens);
      const safe = address(href);
      return safe ? `<a href="${escape(safe)}" target="_blank" rel="noopener noreferrer nofollow">${words}</a>` : words;
    },
    image({ href, text }) {
      const safe = address(href);
      const words = escape(text || href);
      return safe ? `<a href="${escape(safe)}" target="_blank" rel="noopener noreferrer nofollow">${words}</a>` : words;
    },
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    // The box of a task stands in the place of its bullet.
    listitem(item) {
      return `<li${item.task ? ' class="task"' : ''}>${this.parser.parse(item.tokens)}</li>\n`;
    },
  },
});

const TAGS = 'a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre strong sub sup span table tbody td th thead tr ul'.split(' ');

/** The page takes HTML from the sanitiser alone: the server's policy has browsers refuse any other (Trusted Types). */
function clean(html: string): string {
  const allowed = { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ['href', 'target', 'rel', 'start', 'align', 'tabindex', 'class'], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false };
  return DOMPurify.sanitize(html, { ...allowed, RETURN_TRUSTED_TYPE: true }) as unknown as string;
}

/** Code with its colours: nothing but spans with names. */
export function coloured(html: string): string {
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], RETURN_TRUSTED_TYPE: true }) as unknown as string;
}

/** The words without their marks, and without code and tables: for a place of one line. */
export function plain(text: string): string {
  const tokens = marked.lexer(text.slice(0, 4_000)).filter((token) => !['code', 'table', 'space', 'hr', 'def'].includes(token.type));
  return wordsOf(tokens).replace(/\s+/g, ' ').trim() || text;
}

function wordsOf(tokens: Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'br') return ' ';
      const inner = token.type === 'list' ? (token['items'] as Token[]) : 'tokens' in token ? token.tokens : undefined;
      const words = inner?.length ? wordsOf(inner) : 'text' in token ? String(token.text) : '';
      return ['paragraph', 'heading', 'list_item', 'blockquote'].includes(token.type) ? `${words} ` : words;
    })
    .join('');
}

function block(token: Token): Block | null {
  if (token.type === 'space' || token.type === 'def') return null;
  if (token.type === 'code') {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(token.raw)?.[1];
    const open = fence !== undefined && !new RegExp(`\\n {0,3}${fence[0]}{${fence.length},}\\s*$`).test(token.raw);
    return { is: 'code', raw: token.raw, language: (token.lang ?? '').split(/\s/)[0] ?? '', text: token.text, open };
  }
  if (token.type === 'formulaBlock') return { is: 'math', raw: token.raw, text: String(token['text']) };
  // A table that is too wide scrolls, which needs the keyboard too. Text has no tags, so that this is a table of ours.
  return { is: 'html', raw: token.raw, html: clean(marked.parser([token]).replaceAll('<table>', '<table tabindex="0">')) };
}

const row = /^\|.*\|?\s*$/;
const rule = /^\|[\s:|-]*-[\s:|-]*$/;

/** Models begin tables right after a list, where they count as words of its last item. An empty line sets them apart. */
function tablesApart(text: string): string {
  if (!text.includes('\n|')) return text;
  const lines = text.split('\n');
  let fenced = false;
  return lines
    .map((line, at) => {
      if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
      const before = lines[at - 1] ?? '';
      const begins = !fenced && row.test(line) && rule.test(lines[at + 1] ?? '') && before.trim() !== '' && !row.test(before);
      return begins ? `\n${line}` : line;
    })
    .join('\n');
}

/** Text that grows at its end. Blocks that are complete are read once. */
export class Growing {
  private text = '';
  private done: Block[] = [];
  private doneLength = 0;
  private blocks: Block[] = [];

  read(whole: string): Block[] {
    const text = tablesApart(whole);
    if (text === this.text) return this.blocks;
    if (!text.startsWith(this.text.slice(0, this.doneLength))) {
      this.done = [];
      this.doneLength = 0;
    }
    this.text = text;
    const tokens = marked.lexer(text.slice(this.doneLength));
    // The last two may still change with what follows: a list goes on after an empty line, for one.
    const kept = Math.max(0, tokens.length - 3);
    for (const token of tokens.slice(0, kept)) {
      const read = block(token);
      if (read) this.done.push(read);
      this.doneLength += token.raw.length;
    }
    const tail = tokens.slice(kept).map(block).filter((one) => one !== null);
    this.blocks = [...this.done, ...tail];
    return this.blocks;
  }
}

export function read(text: string): Block[] {
  return new Growing().read(text);
}
