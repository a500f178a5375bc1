// How settings are grouped, edited, and described. Only the view of settings needs it.

import type { Setting } from './settings';

/** The switches that most people look for, by what they decide. */
export const SWITCHES: [string, string[]][] = [
  ['Permissions', ['autonomy', 'apply.auto', 'apply.files', 'apply.commands', 'commands.sandbox', 'commands.network']],
  ['Copilot', ['copilot.flow', 'copilot.approval_mode', 'copilot.pace', 'copilot.auto_continue', 'copilot.synthesis', 'copilot.intelligent_routing']],
  ['Model', ['model', 'models.fast', 'effort', 'limits.budget_usd']],
];

/** The lines that a setting has in the settings file. */
export function inFile({ setting, value }: Pick<Setting, 'setting' | 'value'>): string {
  const at = setting.lastIndexOf('.');
  return at < 0 ? `${setting} = ${value}` : `[${setting.slice(0, at)}]\n${setting.slice(at + 1)} = ${value}`;
}

const sentenceCase = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

/** Where the last word of the name says too little. */
const TITLES: Record<string, string> = {
  'apply.auto': 'Automatic approvals',
  'apply.files': 'Edits',
  'apply.tasks': 'Task changes',
  'apply.confirm_deletes': 'Ask before deleting files',
  'commands.allow': 'Allowed commands',
  'commands.ask': 'Commands that ask',
  'commands.deny': 'Denied commands',
  'commands.match': 'How allowed commands match',
  'copilot.flow': 'Preset',
  'folders.trusted': 'Trusted folders',
  'image.batch': 'Several images',
  'limits.budget_usd': 'Budget per session (USD)',
  'limits.jobs': 'Requests at the same time',
  'limits.steps': 'Model calls per request',
  'models.fast': 'Fast model',
  'models.fallback': 'Fallback model',
  'models.vision': 'Model for images',
  'models.image': 'Model that generates images',
  'tui.plain': 'Plain lines',
  'tui.vim': 'Vim keys',
};

/** A setting in words: `commands.timeout_s` is "Timeout (s)". */
export function titleOf(setting: string): string {
  const title = TITLES[setting];
  if (title) return title;
  const units: [RegExp, string][] = [[/_s$/, ' (s)'], [/_mb$/, ' (MB)'], [/_usd$/, ' (USD)'], [/_min$/, ' (min)']];
  const name = setting.slice(setting.lastIndexOf('.') + 1);
  const unit = units.find(([ending]) => ending.test(name));
  return sentenceCase((unit ? name.replace(unit[0], '') : name).replaceAll('_', ' ')) + (unit?.[1] ?? '');
}

const SECTIONS: Record<string, string> = { apply: 'Approvals', tui: 'Terminal UI', mcp: 'MCP servers', diff: 'Diffs', folders: 'Trusted folders' };

/** The settings by their sections, in the order in which they come. */
export function sections(settings: Setting[]): [string, Setting[]][] {
  const found = new Map<string, Setting[]>();
  for (const one of settings) {
    const first = one.setting.includes('.') ? one.setting.slice(0, one.setting.indexOf('.')) : 'general';
    const name = SECTIONS[first] ?? sentenceCase(first);
    found.set(name, [...(found.get(name) ?? []), one]);
  }
  return [...found];
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** Whether a list is of plain strings, which are edited line by line. */
export function isPlainList({ kind, value }: Pick<Setting, 'kind' | 'value'>): boolean {
  const list = kind === 'list' ? parsed(value) : undefined;
  return Array.isArray(list) && list.every((entry) => typeof entry === 'string' && !entry.includes('\n'));
}

/** A value as a person edits it. */
export function editable(one: Pick<Setting, 'kind' | 'value'>): string {
  if (isPlainList(one)) return (JSON.parse(one.value) as string[]).join('\n');
  const value = parsed(one.value);
  return typeof value === 'string' ? value : one.value;
}

/** An edited value as the server takes it. */
export function written(one: Pick<Setting, 'kind' | 'value'>, draft: string): string {
  if (!isPlainList(one)) return draft.trim();
  const entries = draft.split('\n').map((entry) => entry.trim());
  return JSON.stringify(entries.filter(Boolean));
}

/** Where a value comes from, in words. */
export function sourceOf({ origin, inFile: isInFile }: Pick<Setting, 'origin' | 'inFile'>): string {
  if (origin === 'default') return 'Default';
  const line = /, line (\d+)$/.exec(origin)?.[1];
  if (isInFile) return line ? `Settings file, line ${line}` : 'Settings file';
  return sentenceCase(origin);
}
