// Everything that can be done where the person is, for the list of commands.

import { here, type Panel } from './router.svelte';
import type { Session } from './session.svelte';

export interface PaletteCommand {
  name: string;
  keys?: string;
  /** Tells it from another of the same name. */
  key?: string;
  act: () => void;
}

export interface PaletteActions {
  session: Session | null;
  id: string | null;
  /** A request runs. */
  active: boolean;
  search: () => void;
  help: () => void;
  theme: (next: string) => void;
  rename: () => void;
  remove: () => void;
  fork: () => Promise<void>;
  exported: () => Promise<void>;
  shared: (as: 'md' | 'html') => Promise<void>;
}

export function commandsFor({ session, id, active, search, help, theme, rename, remove, fork, exported, shared }: PaletteActions): PaletteCommand[] {
  const all: PaletteCommand[] = [
    { name: 'New session', act: () => here.go({ view: 'home' }) },
    { name: 'Tasks', act: () => here.go({ view: 'tasks' }) },
    { name: 'Memory', act: () => here.go({ view: 'memory' }) },
    { name: 'Usage', act: () => here.go({ view: 'usage' }) },
    { name: 'Audit', act: () => here.go({ view: 'audit' }) },
    { name: 'Extensions: skills, MCP servers, hooks', act: () => here.go({ view: 'extensions' }) },
    { name: 'Settings', act: () => here.go({ view: 'settings' }) },
    { name: 'Search sessions', act: search },
    { name: 'Write a message', act: () => document.getElementById('composer')?.focus() },
    { name: 'Keys', keys: 'Ctrl /', act: help },
    { name: 'Theme: system', act: () => theme('system') },
    { name: 'Theme: light', act: () => theme('light') },
    { name: 'Theme: dark', act: () => theme('dark') },
  ];
  if (!session || !id) return all;
  const show = (panel: Panel) => () => here.go({ view: 'session', id, panel });
  const ofSession: PaletteCommand[] = [
    { name: 'Conversation', act: show('chat') },
    { name: 'Changes: see and undo', act: show('changes') },
    { name: 'Files: read the folder', act: show('files') },
    { name: 'Undo the last change', act: () => void session.rewind(1) },
    { name: 'Redo the next change', act: () => void session.forward(1) },
    { name: 'Trace: every call', act: show('trace') },
    { name: 'Rename this session…', act: rename },
    { name: 'Fork: continue from here in a copy', act: () => void fork() },
    { name: 'Export this session as JSON', act: () => void exported() },
    { name: 'Export this session as Markdown', act: () => void shared('md') },
    { name: 'Export this session as HTML', act: () => void shared('html') },
    { name: 'Delete this session…', act: remove },
  ];
  const ofRequest: PaletteCommand[] = [
    { name: 'Stop', keys: 'Esc Esc', act: () => void session.control('cancel') },
    { name: 'Pause', act: () => void session.control('pause') },
  ];
  return [...(active ? ofRequest : []), ...ofSession, ...all];
}
