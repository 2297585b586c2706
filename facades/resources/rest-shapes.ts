/** What the REST surface has of a described resource: members of bodies, members of records, and the way between those and the contract. */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { wordOf } from './field.ts';
import type { Field, Kind, Rule, Table } from './field.ts';
import { change, noChanges } from './mask-fields.ts';
import type { FieldChanges } from './mask-fields.ts';
import { oneOf } from './one-of.ts';
import { optional } from './optional.ts';
import { textMap, usableEnv } from './text-map.ts';
import { withDefaults } from './with-defaults.ts';

const LIST_LENGTH_MAX = 100;
const LISTED_LENGTH_MAX = 191;
const COMMAND_PARTS_MAX = 1_000;
const COMMAND_PART_LENGTH_MAX = 131_072;

/** The value of a kind in JSON. */
type ValueOf<One> =
  One extends { is: 'text' } ? string
    : One extends { is: 'whole' } ? number
      : One extends { is: 'flag' | 'switch' } ? boolean
        : One extends { is: 'texts' | 'command' } ? string[]
          : One extends { is: 'variables' } ? Record<string, string>
            : One extends { is: 'word'; words: infer Words } ? keyof Words : never;

/** Settings with a name on this surface, by it. */
type Members<Fields> = {
  [Name in keyof Fields as Fields[Name] extends { rest: { name: infer Shown extends string } } ? Shown : never]:
  Fields[Name] extends { kind: infer One } ? ValueOf<One> : never
};

/** The names of settings that may be none. */
type MaybeNone<Fields> = { [Name in keyof Fields]: Fields[Name] extends { kind: { none: true } } ? Name : never }[keyof Fields];

/** Settings that records have. */
type Recorded<Fields> = { [Name in keyof Fields as Fields[Name] extends { rest: { bodyOnly: true } } ? never : Name]: Fields[Name] };

/** A record's members that are settings. */
export type RestRecord<Fields> = Members<Omit<Recorded<Fields>, MaybeNone<Fields>>> & Partial<Members<Pick<Recorded<Fields>, MaybeNone<Recorded<Fields>>>>>;

/** A body's members that are settings. */
export type RestBody<Fields> = Partial<Members<{
  [Name in keyof Fields as Fields[Name] extends { rest: { in: string } } ? Name : never]: Fields[Name]
}>>;

/** Members of a body. Those of a body that creates something are required where they must be, and tell the defaults. */
export function bodyMembers(table: Table, { creates = false } = {}): Record<string, TSchema> {
  const shown = Object.values(table).flatMap((field) => (field.rest?.in === undefined ? [] : [{ ...field, rest: field.rest, about: field.rest.in }]));
  const members = Object.fromEntries(shown.map(({ kind, rule, rest, about, required }) => {
    const schema = member(kind, about, { ...rule, min: rest.min ?? rule.min! });
    return [rest.name, creates && required ? schema : optional(schema)];
  }));
  const known = shown.filter(({ rule }) => rule.default !== undefined && !rule.byTemplate);
  return creates ? withDefaults(members, Object.fromEntries(known.map(({ kind, rule, rest }) => [rest.name, asJson(kind, rule.default)]))) : members;
}

/** One member of a body. */
export function member(kind: Kind, description: string, { min, max }: Rule): TSchema {
  switch (kind.is) {
    case 'text': return Type.String({ ...(kind.min === undefined ? {} : { minLength: kind.min }), maxLength: kind.max, description });
    case 'whole': return Type.Integer({ minimum: min!, maximum: max!, description });
    case 'flag': case 'switch': return Type.Boolean({ description });
    case 'texts': return Type.Array(Type.String(kind.pattern === undefined ? { maxLength: LISTED_LENGTH_MAX } : { pattern: kind.pattern }), {
      maxItems: LIST_LENGTH_MAX, description,
    });
    case 'command': return Type.Array(Type.String({ maxLength: COMMAND_PART_LENGTH_MAX }), { maxItems: COMMAND_PARTS_MAX, description });
    case 'variables': return textMap(description);
    case 'word': return oneOf(Object.keys(kind.words), description);
  }
}

/** Members of a record. */
export function recordMembers(table: Table): Record<string, TSchema> {
  const shown = Object.values(table).filter(({ rest }) => isRecorded(rest));
  return Object.fromEntries(shown.map(({ kind, rest }) => [rest!.name, shownMember(kind, rest!.out)]));
}

function shownMember(kind: Kind, out: string | undefined): TSchema {
  const about = out === undefined ? {} : { description: out };
  switch (kind.is) {
    case 'text': return kind.none ? Type.Optional(Type.String(about)) : Type.String(about);
    case 'whole': return Type.Integer(about);
    case 'flag': case 'switch': return Type.Boolean(about);
    case 'texts': case 'command': return Type.Array(Type.String(), about);
    case 'variables': return textMap(out ?? '');
    case 'word': return oneOf(Object.keys(kind.words), out);
  }
}

/** A record's members of a message. */
export function restRecord<Fields extends Table>(table: Fields, message: { readonly [Name in keyof Fields]: unknown }): RestRecord<Fields> {
  const shown = Object.entries(table).filter(([name, { kind, rest }]) => isRecorded(rest) && !isNone(kind, message[name]));
  return Object.fromEntries(shown.map(([name, { kind, rest }]) => [rest!.name, present(kind, message[name])])) as RestRecord<Fields>;
}

/** The settings that a body names. `own`: what the surface makes of them itself, by the contract's names; undefined: not given. */
export function restChanges<Message extends object>(
  table: Table, body: object, own: { [Name in keyof Message]?: Message[Name] | undefined } = {},
): FieldChanges<Message> {
  const changes = noChanges<Message>();
  for (const [name, { kind, rest }] of Object.entries(table)) {
    const field = name as keyof Message & string;
    const given = rest && (body as Record<string, unknown>)[rest.name];
    change(changes, field, field in own ? own[field] : given === undefined ? undefined : read(kind, given) as Message[typeof field]);
  }
  return changes;
}

function read(kind: Kind, value: unknown): unknown {
  if (kind.is === 'word') return kind.words[value as string];
  if (kind.is === 'switch') return Object.values(kind.words)[value === true ? 1 : 0];
  return kind.is === 'variables' ? usableEnv(value as Record<string, string>) : value;
}

function isRecorded(rest: Field['rest']): boolean {
  return rest !== undefined && !rest.bodyOnly;
}

function isNone(kind: Kind, value: unknown): boolean {
  return kind.is === 'text' && kind.none === true && value === '';
}

function present(kind: Kind, value: unknown): unknown {
  if (kind.is === 'word') return wordOf(kind, value);
  return kind.is === 'switch' ? value === Object.values(kind.words)[1] : value;
}

/** A default of core's. */
function asJson(kind: Kind, value: unknown): unknown {
  return kind.is === 'switch' ? value === Object.keys(kind.words)[1] : value;
}
