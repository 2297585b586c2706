/**
 * Schemas of query parameters that add things or leave things out. Bounded so that any query that fits them also fits
 * into a request's headers.
 */

import type { TArray, TBoolean, TOptional, TString } from 'typebox';
import { Type } from 'typebox';

const TEXT_LENGTH_MAX = 191;
const LIST_LENGTH_MAX = 20;
const LISTED_LENGTH_MAX = 64;

/** A parameter with one value that must be met. */
export function only(description: string): TOptional<TString> {
  return Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: `Only ${description}.` }));
}

/** A parameter that may be repeated; one of its values must be met. */
export function anyOf(description: string): TOptional<TArray<TString>> {
  const listed = Type.String({ maxLength: LISTED_LENGTH_MAX });
  return Type.Optional(
    Type.Array(listed, { maxItems: LIST_LENGTH_MAX, description: `Only ${description}, any of them.` }),
  );
}

/** A parameter that adds something to the answer. */
export function include(description: string): TOptional<TBoolean> {
  return Type.Optional(Type.Boolean({ description, default: false }));
}
