import { expect, test } from 'vitest';
import { direction } from './direction';

test('a page is read as its language is written', () => {
  for (const language of ['he', 'he-IL', 'ar-EG', 'fa', 'ur-PK', 'ckb', 'pa-PK', 'uz-Arab']) expect(direction(null, language)).toBe('rtl');
  for (const language of ['en', 'de-CH', 'ja', 'uz', 'pa', 'ar-Latn', '', 'no language at all']) expect(direction(null, language)).toBe('ltr');
});

test('what the person has chosen counts', () => {
  expect(direction('ltr', 'he')).toBe('ltr');
  expect(direction('rtl', 'en')).toBe('rtl');
  expect(direction('system', 'he')).toBe('rtl');
});
