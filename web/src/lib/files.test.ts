import { afterEach, expect, test, vi } from 'vitest';
import { ranked } from './complete';
import { mentionsOf } from './files';

afterEach(() => vi.unstubAllGlobals());

const answers: Record<string, unknown> = {
  '/api/files': { files: ['src/agent.rs', 'README.md'] },
  '/api/resources': { resources: [{ mention: 'docs:guide', name: 'Guide' }] },
  '/api/extensions': {
    extensions: [
      { kind: 'agent', name: 'reviewer', description: 'Reviews changes', state: 'loaded' },
      { kind: 'agent', name: 'other', description: 'Not accepted yet', state: 'pending' },
      { kind: 'skill', name: 'pdf', description: 'Reads PDF', state: 'loaded' },
    ],
  },
};

test('files, agents that are accepted, and resources can be named', async () => {
  vi.stubGlobal('fetch', (path: string) => Promise.resolve(new Response(JSON.stringify(answers[path.split('?')[0] ?? '']))));
  const { files, notes } = await mentionsOf('/kite');
  expect(files).toEqual(['src/agent.rs', 'README.md', 'agent-reviewer', 'docs:guide']);
  expect(notes.get('agent-reviewer')).toBe('Reviews changes');
  expect(ranked(files, 'agent-', 8)[0]).toBe('agent-reviewer');
});
