// Which way the page is read.

const SCRIPTS = new Set(['Adlm', 'Arab', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa']);

/** As the person has chosen, or as the language of their browser is written. */
export function direction(chosen: string | null, language: string): 'ltr' | 'rtl' {
  if (chosen === 'ltr' || chosen === 'rtl') return chosen;
  try {
    return SCRIPTS.has(new Intl.Locale(language).maximize().script ?? '') ? 'rtl' : 'ltr';
  } catch {
    return 'ltr';
  }
}
