// Rules in words.

import { folderName } from './format';
import type { Given } from './wire';

type Rule = Given<'Rule'>;

const TOOLS: Record<string, string> = {
  run_command: 'Commands in the sandbox',
  run_outside: 'Commands outside the sandbox',
  read_file: 'Reading files',
  edit_file: 'Editing files',
  delete_file: 'Deleting files',
  move_file: 'Moving files',
  fetch_url: 'Fetching pages',
  web_search: 'Web searches',
  mcp: 'Tools of MCP servers',
  network: 'Hosts that commands can reach',
  instructions: 'Accepted instructions',
  skill: 'Accepted skill',
  hook: 'Hook',
};

/** What a rule is about, and where it holds. */
export const ruleWords = (rule: Pick<Rule, 'tool' | 'folder'>): string => `${TOOLS[rule.tool] ?? rule.tool} · ${rule.folder ? `in ${folderName(rule.folder)}` : 'everywhere'}`;
