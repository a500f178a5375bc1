import { beforeEach, expect, test } from 'vitest';
import { handOver, inMessage, keepOptions, keptOptions, NEW, within } from './options';
import { typedOption } from './commands';

beforeEach(() => localStorage.clear());

test('each session has its own options', () => {
  keepOptions('s1', { mode: 'plan', model: 'a/b', effort: 'high' });
  expect(keptOptions('s1')).toEqual({ mode: 'plan', model: 'a/b', effort: 'high' });
  expect(keptOptions('s2')).toEqual({ mode: 'auto', model: '', effort: 'auto' });
  keepOptions('s1', { mode: 'auto', model: '', effort: 'auto' });
  expect(localStorage.length).toBe(0);
});

test('damaged options are the defaults', () => {
  localStorage.setItem('trimtab.options.s1', '{"mode":"rm","model":4,"effort":"huge"}');
  localStorage.setItem('trimtab.options.s2', '{');
  for (const place of ['s1', 's2']) expect(keptOptions(place)).toEqual({ mode: 'auto', model: '', effort: 'auto' });
});

test('a new session takes the options along, and the next one starts in the usual mode', () => {
  keepOptions(NEW, { mode: 'plan', model: 'a/b', effort: 'low' });
  handOver('s1');
  expect(keptOptions('s1').mode).toBe('plan');
  expect(keptOptions(NEW)).toEqual({ mode: 'auto', model: 'a/b', effort: 'low' });
});

test('the level of a new session goes with its first message, and is not taken along', () => {
  keepOptions(NEW, { mode: 'auto', model: '', effort: 'auto', autonomy: 'trusting' });
  expect(inMessage(keptOptions(NEW))).toEqual({ mode: 'auto', autonomy: 'trusting' });
  handOver('s1');
  expect(keptOptions('s1').autonomy).toBeUndefined();
  expect(keptOptions(NEW).autonomy).toBeUndefined();
  expect([within('trusting', 'careful'), within('careful', 'trusting'), within('trusting')]).toEqual(['careful', 'careful', 'trusting']);
});

test('a message says only what was chosen', () => {
  expect(inMessage({ mode: 'auto', model: '', effort: 'auto' })).toEqual({ mode: 'auto' });
  expect(inMessage({ mode: 'chat', model: 'a/b', effort: 'max' })).toEqual({ mode: 'chat', model: 'a/b', effort: 'max' });
});

test('commands set an option, say why they cannot, or are none', () => {
  expect(typedOption('/effort high')).toEqual({ effort: 'high' });
  expect(typedOption('/effort')).toEqual({ effort: 'auto' });
  expect(typedOption('/effort huge')).toMatch(/Expected auto, off/);
  expect(typedOption('/model anthropic/claude')).toEqual({ model: 'anthropic/claude' });
  expect(typedOption('/model')).toEqual({ model: '' });
  expect(typedOption('/model claude')).toMatch(/PROVIDER/);
  expect(typedOption('/autonomy careful')).toEqual({ autonomy: 'careful' });
  expect(typedOption('/autonomy yolo')).toMatch(/Expected careful, standard, trusting/);
  expect(typedOption('/effortless')).toBeNull();
  expect(typedOption('please /effort high')).toBeNull();
});
