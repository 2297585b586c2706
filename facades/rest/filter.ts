/**
 * Schemas of query parameters that add things or leave things out. Bounded so that any query that fits them also fits
 * into a request's headers.
 */

import type { TArray, TBoolean, TOptional, TString } from 'typebox';
import { Type } from 'typebox';

const TEXT_LENGTH_MAX = 191;
const LIST_LENGTH_MAX = 20;
const LISTED_LENGTH_MAX = 64;

/** Returns a parameter with one value that must match. */
export function only(description: string): TOptional<TString> {
  return Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: `Only ${description}.` }));
}

/** Returns a parameter that may be repeated. One of its values must match. */
export function anyOf(description: string): TOptional<TArray<TString>> {
  const listed = Type.String({ maxLength: LISTED_LENGTH_MAX });
  return Type.Optional(
    Type.Array(listed, { maxItems: LIST_LENGTH_MAX, description: `Only ${description}, any of them.` }),
  );
}

/** Returns a parameter that adds something to the response. */
export function include(description: string): TOptional<TBoolean> {
  return Type.Optional(Type.Boolean({ description, default: false }));
}
