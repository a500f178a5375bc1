// The words around a permission: those of `crates/vocab/src/wording/permission.rs`, which a test writes as JSON.
import lines from './permission.json';

export { lines };

/** What stands before and after the value in a line. */
export function around(line: string): [string, string] {
  const [before = '', after = ''] = line.split(/\{\w+\}/);
  return [before, after];
}

/** What a permission was asked for: the command or the page after the question, otherwise the question without its mark. */
export function subject(title: string): string {
  const [question = '', ...rest] = title.split('? ');
  return rest.join('? ').trim() || question.replace(/\?$/, '');
}

/** Where a command would run, around its folder. */
export function place(sandbox = 'workspace', terminal = false): [string, string] {
  const known: Record<string, string> = { workspace: lines.workspace, 'read-only': lines.readOnly, off: lines.off };
  const [before, after] = around(known[sandbox] ?? `${lines.workspace} (${sandbox})`);
  return [before, `${after}${terminal ? lines.terminal : ''}.`];
}
