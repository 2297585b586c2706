/**
 * Schemas of a described resource on the REST surface: members of bodies and of records. Their values are
 * rest-values.ts's.
 */

import type { TSchema } from 'typebox';
import { Type } from 'typebox';
import type { Kind, Rule, Table } from './field.ts';
import { oneOf } from './one-of.ts';
import { optional } from './optional.ts';
import { isRecorded } from './rest-values.ts';
import { textMap } from './text-map.ts';
import { withDefaults } from './with-defaults.ts';

const LIST_LENGTH_MAX = 100;
const LISTED_LENGTH_MAX = 191;
const COMMAND_PARTS_MAX = 1_000;
const COMMAND_PART_LENGTH_MAX = 131_072;

/** Returns the members of a body. In a body that creates, required members are marked and defaults are documented. */
export function bodyMembers(table: Table, { creates = false } = {}): Record<string, TSchema> {
  const shown = Object.values(table).flatMap((field) =>
    field.rest?.in === undefined ? [] : [{ ...field, rest: field.rest, about: field.rest.in }],
  );
  const members = Object.fromEntries(
    shown.map(({ kind, rule, rest, about, required }) => {
      const schema = member(kind, about, { ...rule, min: rest.min ?? rule.min! });
      return [rest.name, creates && required ? schema : optional(schema)];
    }),
  );
  // An empty environment means the same as an absent one. Generators of Python clients fail on an object as a default.
  const known = shown.filter(
    ({ kind, rule }) => rule.default !== undefined && !rule.conditional && kind.is !== 'variables',
  );
  return creates
    ? withDefaults(
        members,
        Object.fromEntries(known.map(({ kind, rule, rest }) => [rest.name, asJson(kind, rule.default)])),
      )
    : members;
}

/** Returns the schema of one member of a body. */
export function member(kind: Kind, description: string, { min, max }: Rule): TSchema {
  switch (kind.is) {
    case 'text':
      return Type.String({
        ...(kind.min === undefined ? {} : { minLength: kind.min }),
        maxLength: kind.max,
        description,
      });
    case 'whole':
      return Type.Integer({ minimum: min!, maximum: max!, description });
    case 'flag':
    case 'switch':
      return Type.Boolean({ description });
    case 'texts':
      return Type.Array(
        Type.String(kind.pattern === undefined ? { maxLength: LISTED_LENGTH_MAX } : { pattern: kind.pattern }),
        {
          maxItems: LIST_LENGTH_MAX,
          description,
        },
      );
    case 'command':
      return Type.Array(Type.String({ maxLength: COMMAND_PART_LENGTH_MAX }), {
        maxItems: COMMAND_PARTS_MAX,
        description,
      });
    case 'variables':
      return textMap(description);
    case 'word':
      return oneOf(Object.keys(kind.words), description);
  }
}

/** Returns the members of a record. */
export function recordMembers(table: Table): Record<string, TSchema> {
  const shown = Object.values(table).filter(({ rest }) => isRecorded(rest));
  return Object.fromEntries(shown.map(({ kind, rest }) => [rest!.name, shownMember(kind, rest!.out)]));
}

function shownMember(kind: Kind, out: string | undefined): TSchema {
  const about = out === undefined ? {} : { description: out };
  switch (kind.is) {
    case 'text':
      return kind.none ? Type.Optional(Type.String(about)) : Type.String(about);
    case 'whole':
      return Type.Integer(about);
    case 'flag':
    case 'switch':
      return Type.Boolean(about);
    case 'texts':
    case 'command':
      return Type.Array(Type.String(), about);
    case 'variables':
      return textMap(out ?? '');
    case 'word':
      return oneOf(Object.keys(kind.words), out);
  }
}

/** Returns one of core's defaults in JSON. */
function asJson(kind: Kind, value: unknown): unknown {
  return kind.is === 'switch' ? value === Object.keys(kind.words)[1] : value;
}
