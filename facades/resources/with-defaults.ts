/**
 * Defaults in the description of a body that creates something. Core decides them; a test compares both. Changes never
 * carry them: a client that fills defaults in would reset what its caller left out.
 */

import type { TSchema } from 'typebox';
import { Type } from 'typebox';

/** The fields, those of which a default is given with it. Nothing is filled in here (facades/app.ts: useDefaults). */
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
