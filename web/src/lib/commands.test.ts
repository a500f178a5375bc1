import { expect, test } from 'vitest';
import table from './commands.json';
import { OFFERED, typedCommand } from './commands';

test('a command that people bring does what they mean', () => {
  expect(typedCommand('/clear', [])).toEqual({ is: 'page', page: 'home' });
  expect(typedCommand('/Cost', [])).toEqual({ is: 'page', page: 'usage' });
  expect(typedCommand('/plan', [])).toEqual({ is: 'options', set: { mode: 'plan' } });
  expect(typedCommand('/plan add a dark theme', [])).toEqual({ is: 'request', text: 'add a dark theme', mode: 'plan' });
  expect(typedCommand('/effort high', [])).toEqual({ is: 'options', set: { effort: 'high' } });
  expect(typedCommand('/review the last commit', [])).toEqual({ is: 'message' });
});

test('an unknown command never becomes a message by itself', () => {
  expect(typedCommand('/chnges', [])).toEqual({ is: 'refused', why: 'Unknown command /chnges. Did you mean /changes?' });
  expect(typedCommand('/xyzzyx', [])).toEqual({ is: 'refused', why: 'Unknown command /xyzzyx.' });
  expect(typedCommand('/theme dark', [])).toEqual({ is: 'refused', why: '/theme is not available here.' });
  expect(typedCommand('/new thing', [])).toEqual({ is: 'refused', why: '/new takes no text.' });
  expect(typedCommand('/effort huge', [])).toMatchObject({ is: 'refused' });
});

test('workflows and paths are messages', () => {
  expect(typedCommand('/ship it', ['ship'])).toEqual({ is: 'message' });
  expect(typedCommand('/etc/passwd', [])).toEqual({ is: 'message' });
});

test('every command that is offered does something', () => {
  for (const { name } of OFFERED) {
    const row = table.commands.find((one) => one.name === name || (one.aliases as string[]).includes(name));
    expect(typedCommand(`/${name}${row?.name === 'model' ? ' a/b' : row?.name === 'autonomy' ? ' careful' : ''}`, []), name).not.toMatchObject({ is: 'refused' });
  }
});
