// Colours for code. The grammars are fetched one by one, when a block first needs one.

import type { HLJSApi, LanguageFn } from 'highlight.js';
import { coloured } from './markdown';

const grammars: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  csharp: () => import('highlight.js/lib/languages/csharp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  php: () => import('highlight.js/lib/languages/php'),
  python: () => import('highlight.js/lib/languages/python'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  swift: () => import('highlight.js/lib/languages/swift'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};
const names: Record<string, string> = {
  sh: 'bash', shell: 'bash', console: 'bash', zsh: 'bash', h: 'c', cc: 'cpp', hpp: 'cpp', 'c++': 'cpp', cs: 'csharp', patch: 'diff',
  toml: 'ini', js: 'javascript', mjs: 'javascript', jsx: 'javascript', jsonl: 'json', kt: 'kotlin', md: 'markdown', py: 'python',
  rb: 'ruby', rs: 'rust', ts: 'typescript', tsx: 'typescript', html: 'xml', svg: 'xml', svelte: 'xml', vue: 'xml', yml: 'yaml',
};
/** Longer blocks stay plain: colouring them would be felt. */
const LONGEST = 100_000;

let core: Promise<HLJSApi> | null = null;

/** HTML that the page may take, or nothing if the language is not known. */
export async function highlight(code: string, language: string): Promise<string | null> {
  const asked = language.toLowerCase();
  const name = names[asked] ?? asked;
  const grammar = grammars[name];
  if (!grammar || code.length > LONGEST) return null;
  core ??= import('highlight.js/lib/core').then((module) => module.default);
  const [hljs, module] = await Promise.all([core, grammar()]);
  if (!hljs.getLanguage(name)) hljs.registerLanguage(name, module.default);
  return coloured(hljs.highlight(code, { language: name, ignoreIllegals: true }).value);
}

export function languageOf(path: string): string {
  return path.split('.').pop() ?? '';
}
