/**
 * A member of a body that need not be given. `null` counts as not given (read-json.ts), and the description says so.
 */

import type { TSchema } from 'typebox';
import { Type } from 'typebox';

/** The schema with the mark. */
export function optional<Schema extends TSchema>(schema: Schema): ReturnType<typeof Type.Optional<Schema>> {
  const words = (schema as { enum?: unknown[] }).enum;
  // OpenAPI 3.0 wants null among the words too.
  const marks = { nullable: true, ...(words === undefined ? {} : { enum: [...words, null] }) };
  return Object.assign(Type.Optional(schema), marks);
}
