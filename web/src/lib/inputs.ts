// What a model gave a tool, as lines for people: names and values instead of JSON.

export interface Field {
  name: string;
  value: string;
  /** It has lines of its own. */
  long: boolean;
}

/** The lines of a value stand deeper than its name, so that no value can look like another field. */
function under(name: string, value: unknown): string[] {
  const lines = linesOf(value);
  return lines.length === 1 && (typeof value !== 'object' || value === null) ? [`${name} ${lines[0]}`] : [name, ...lines.map((line) => `  ${line}`)];
}

function linesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => under('-', one));
  if (value !== null && typeof value === 'object') return Object.entries(value).flatMap(([name, one]) => under(`${name}:`, one));
  return String(value).split('\n');
}

export function inputFields(input: Record<string, unknown>): Field[] {
  return Object.entries(input)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => ({ name: name.replaceAll('_', ' '), value: linesOf(value).join('\n') }))
    .map((field) => ({ ...field, long: field.value.includes('\n') || field.value.length > 100 }));
}
