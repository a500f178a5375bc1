// Writes `generated/wire.ts`: the types of the server's own description, `openapi.json`.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const isNull = (schema) => schema?.type === 'null';

/** The same description in the words that the generator understands best. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const schema = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
  // What all forms have and what one of them adds: both hold. The generator takes them for alternatives.
  const forms = schema.oneOf ? 'oneOf' : 'anyOf';
  if (schema.properties && Array.isArray(schema[forms])) {
    const { [forms]: alternatives, ...shared } = schema;
    return { allOf: [object(shared), { [forms]: alternatives }] };
  }
  if (schema.properties && schema.$ref) {
    const { $ref, ...own } = schema;
    return { allOf: [{ $ref }, object(own)] };
  }
  return object(schema);
}

/** What may be absent is left out where it is absent, and never null. */
function object(schema) {
  if (typeof schema.properties !== 'object' || schema.properties === null) return schema;
  const properties = Object.entries(schema.properties).map(([name, part]) => {
    if (schema.required?.includes(name)) return [name, part];
    if (Array.isArray(part.type)) return [name, { ...part, type: part.type.filter((one) => one !== 'null') }];
    if (part.anyOf?.some(isNull)) return [name, { ...part, anyOf: part.anyOf.filter((one) => !isNull(one)) }];
    return [name, part];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

const description = JSON.parse(readFileSync('openapi.json', 'utf8'));
mkdirSync('generated', { recursive: true });
writeFileSync('generated/wire.ts', astToString(await openapiTS(plain(description))));
