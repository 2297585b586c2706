/** An optional member of a body. `null` counts as absent (read-json.ts), and the description documents it. */

import type { TSchema } from 'typebox';
import { Type } from 'typebox';

/** Returns the schema, marked as optional. */
export function optional<Schema extends TSchema>(schema: Schema): ReturnType<typeof Type.Optional<Schema>> {
  const words = (schema as { enum?: unknown[] }).enum;
  // OpenAPI 3.0 wants null among the words too.
  const marks = { nullable: true, ...(words === undefined ? {} : { enum: [...words, null] }) };
  return Object.assign(Type.Optional(schema), marks);
}
