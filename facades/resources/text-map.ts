/** A schema for an object of texts, such as an environment, in the form of OpenAPI 3.0. */

import type { TUnsafe } from 'typebox';
import { Type } from 'typebox';

/** Returns the schema. */
export function textMap(description: string): TUnsafe<Record<string, string>> {
  return Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' }, description });
}
