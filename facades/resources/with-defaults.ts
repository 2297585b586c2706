/**
 * Documents defaults in a body that creates a resource. Core decides them; a test compares both. Changes never document
 * defaults: a client that fills them in would reset the settings that its caller left out.
 */

import type { TSchema } from 'typebox';
import { Type } from 'typebox';

/** Returns the fields, with the given defaults documented. Nothing is filled in here (facades/app.ts: useDefaults). */
export function withDefaults<Fields extends Record<string, TSchema>>(
  fields: Fields,
  defaults: { [Name in keyof Fields]?: unknown },
): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [
      name,
      name in defaults ? Object.assign(Type.Optional(schema), schema, { default: defaults[name] }) : schema,
    ]),
  ) as Fields;
}
