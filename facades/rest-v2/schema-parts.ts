/** Parts of the schemas of REST v2, and the names under which the OpenAPI document has them. */

import type { TObject, TProperties, TSchema, TUnsafe } from 'typebox';
import { Type } from 'typebox';

const names = new WeakMap<object, string>();

/** Names a schema: the document shows it once, and refers to it elsewhere. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  names.set(schema, name);
  return schema;
}

/** Returns the name of a schema. `undefined` if it is shown inline. */
export function nameOf(schema: object): string | undefined {
  return names.get(schema);
}

/** Returns the schema of an object without other members. */
export function closed<Members extends TProperties>(members: Members, options: object = {}): TObject<Members> {
  return Type.Object(members, { additionalProperties: false, ...options });
}

/** Returns a schema for one of several words. */
export function word<const Word extends string>(words: readonly Word[], description?: string): TUnsafe<Word> {
  return Type.Unsafe<Word>({ type: 'string', enum: words, ...(description === undefined ? {} : { description }) });
}

/** Returns a schema for a text, or null for none. */
export function textOrNull(description: string, more: object = {}): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], description, ...more });
}

/** Returns a schema for a moment. */
export function moment(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', format: 'date-time', description });
}

/** Returns a schema for a moment, or null for none. */
export function momentOrNull(description: string): TUnsafe<string | null> {
  return textOrNull(description, { format: 'date-time' });
}
