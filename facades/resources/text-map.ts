/** A schema for an object of texts, such as an environment, written as OpenAPI 3.0 knows it. */

import type { TUnsafe } from 'typebox';
import { Type } from 'typebox';

/** The schema. */
export function textMap(description: string): TUnsafe<Record<string, string>> {
  return Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' }, description });
}
