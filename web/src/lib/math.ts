// Formulas, drawn as MathML. The library is loaded with the first formula. Its output has no styles and no fonts, and it
// builds nodes instead of HTML, so that the page's policy holds. Links and pictures in formulas are refused.

/** Longer formulas stay text. */
const LONGEST = 4_000;

/** Draws a formula into an element. Where it cannot be read, its text stays. */
export async function draw(into: HTMLElement, tex: string, display: boolean): Promise<void> {
  if (tex.length > LONGEST) return;
  const { default: katex } = await import('katex');
  const drawn = document.createElement('span');
  try {
    katex.render(tex, drawn, { displayMode: display, output: 'mathml', trust: false, strict: 'ignore', maxSize: 20, maxExpand: 200 });
  } catch {
    return;
  }
  into.replaceChildren(...drawn.childNodes);
}
