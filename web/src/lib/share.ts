// A conversation as a file for other people: Markdown, or a page of HTML that needs nothing else.

import { spokenAs } from './dedupe';
import type { Turn, View } from './fold';
import { escape, read } from './markdown';
import { inWords } from './structured';
import { visible } from './visible';

const named = (view: View) => visible(view.title || view.turns[0]?.text || 'Session', 'line');

/** A name for the file. */
export function fileName(view: View, ending: string): string {
  const words = named(view).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60);
  return `${words || view.id}.${ending}`;
}

/** What was done in a turn, a line each. */
function done(turn: Turn): string[] {
  return turn.items.flatMap((item) => {
    if (item.is === 'change') return item.files.map((file) => `Changed \`${visible(file.path, 'line')}\` (+${file.added} −${file.removed})${item.undone ? ', undone' : ''}`);
    if (item.is !== 'tool' || !item.run?.finished) return [];
    const how = item.run.timedOut ? 'timed out' : `exit code ${item.run.exitCode ?? 'unknown'}`;
    return [`Ran \`${visible(item.run.command, 'command').replaceAll('`', "'")}\` (${how})`];
  });
}

/** What Trimtab said in a turn, as Markdown. */
function said(turn: Turn): string {
  if (turn.structured) return turn.answer ? inWords(turn.answer) : '';
  const words = turn.items.flatMap((item) => (item.is === 'said' && !item.partial && item.text.trim() ? [item.text.trim()] : []));
  const last = words.pop();
  return [...words, last ? spokenAs(last, turn.answer) : ''].filter(Boolean).join('\n\n');
}

/** Lines of other people's Markdown, as a quote: a heading in them is none of the file's. */
const quoted = (text: string) => text.split('\n').map((line) => `> ${line}`.trimEnd()).join('\n');

export function asMarkdown(view: View): string {
  const parts = [`# ${named(view)}`];
  for (const turn of view.turns) {
    parts.push('## You', quoted(turn.text), '## Trimtab', said(turn));
    const lines = done(turn);
    if (lines.length) parts.push(lines.map((line) => `- ${line}`).join('\n'));
    if (turn.error) parts.push(`**${turn.error.message}**`);
  }
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

const STYLE = `:root{color-scheme:light dark}body{max-width:46rem;margin:0 auto;padding:2rem 1.25rem 4rem;font:1rem/1.6 system-ui,sans-serif;background:light-dark(#fff,#14181b);color:light-dark(#161b1e,#e9eef0)}
h1{font-size:1.5rem}.you{white-space:pre-wrap;margin:2rem 0 1rem auto;width:fit-content;max-width:85%;padding:.6rem 1rem;border-radius:16px;background:light-dark(#f1f3f4,#20272c)}
pre{overflow:auto;padding:.75rem;border:1px solid light-dark(#e1e6e8,#2c353b);border-radius:10px}code,pre{font:.86em/1.55 ui-monospace,monospace}
table{border-collapse:collapse}td,th{border:1px solid light-dark(#e1e6e8,#2c353b);padding:.2rem .6rem}.done{color:light-dark(#5a666e,#9dabb4);font-size:.9em}li.task{list-style:none}`;

const markup = (text: string) =>
  read(text)
    .map((block) => (block.is === 'html' ? String(block.html) : `<pre><code>${escape(visible(block.text))}</code></pre>`))
    .join('\n');

export function asHtml(view: View): string {
  const title = escape(named(view));
  const turns = view.turns.map((turn) => {
    const lines = done(turn);
    const list = lines.length ? `<ul class="done">${lines.map((line) => `<li>${escape(line).replace(/`([^`]*)`/g, '<code>$1</code>')}</li>`).join('')}</ul>` : '';
    const error = turn.error ? `<p><strong>${escape(visible(turn.error.message))}</strong></p>` : '';
    return `<section><div class="you" dir="auto">${escape(visible(turn.text))}</div>\n${markup(said(turn))}\n${list}${error}</section>`;
  });
  // A file that is opened from a disk runs no script and loads nothing, whatever was said in it.
  const policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">';
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">${policy}<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head>\n<body><h1>${title}</h1>\n${turns.join('\n')}\n</body></html>\n`;
}
