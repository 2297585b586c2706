/**
 * Converts a described resource between the REST surface and the contract. Does not import the schemas
 * (rest-shapes.ts): the command line shows the same records, and the schema library takes a third of a command's start
 * time.
 */
import { usableEnv } from './env-names.ts';
import type { Field, Kind, Table } from './field.ts';
import { wordOf } from './field.ts';
import type { FieldChanges } from './mask-fields.ts';
import { change, noChanges } from './mask-fields.ts';

/** JSON type of a kind. */
type ValueOf<One> = One extends { is: 'text' }
  ? string
  : One extends { is: 'whole' }
    ? number
    : One extends { is: 'flag' | 'switch' }
      ? boolean
      : One extends { is: 'texts' | 'command' }
        ? string[]
        : One extends { is: 'variables' }
          ? Record<string, string>
          : One extends { is: 'word'; words: infer Words }
            ? keyof Words
            : never;

/** Settings by their name on this surface. */
type Members<Fields> = {
  [Name in keyof Fields as Fields[Name] extends { rest: { name: infer Shown extends string } }
    ? Shown
    : never]: Fields[Name] extends { kind: infer One } ? ValueOf<One> : never;
};

/** Names of settings that may be absent. */
type MaybeNone<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { kind: { none: true } } ? Name : never;
}[keyof Fields];

/** Settings that appear in records. */
type Recorded<Fields> = {
  [Name in keyof Fields as Fields[Name] extends { rest: { bodyOnly: true } } ? never : Name]: Fields[Name];
};

/** Members of a record that are settings. */
export type RestRecord<Fields> = Members<Omit<Recorded<Fields>, MaybeNone<Fields>>> &
  Partial<Members<Pick<Recorded<Fields>, MaybeNone<Recorded<Fields>>>>>;

/** Members of a body that are settings. */
export type RestBody<Fields> = Partial<
  Members<{
    [Name in keyof Fields as Fields[Name] extends { rest: { in: string } } ? Name : never]: Fields[Name];
  }>
>;

/** Returns the members of a record for a message. */
export function restRecord<Fields extends Table>(
  table: Fields,
  message: { readonly [Name in keyof Fields]?: unknown },
): RestRecord<Fields> {
  const shown = Object.entries(table).filter(
    ([name, { kind, rest }]) => isRecorded(rest) && !isNone(kind, message[name]),
  );
  return Object.fromEntries(
    shown.map(([name, { kind, rest }]) => [rest!.name, present(kind, message[name])]),
  ) as RestRecord<Fields>;
}

/**
 * Returns the settings that a body names. `own`: values that the surface computes itself, by the contract's names;
 * `undefined` if absent.
 */
export function restChanges<Message extends object>(
  table: Table,
  body: object,
  own: { [Name in keyof Message]?: Message[Name] | undefined } = {},
): FieldChanges<Message> {
  const changes = noChanges<Message>();
  for (const [name, { kind, rest }] of Object.entries(table)) {
    const field = name as keyof Message & string;
    const given = rest && (body as Record<string, unknown>)[rest.name];
    if (field in own) change(changes, field, own[field]);
    else change(changes, field, given === undefined ? undefined : (read(kind, given) as Message[typeof field]));
  }
  return changes;
}

function read(kind: Kind, value: unknown): unknown {
  if (kind.is === 'word') return kind.words[value as string];
  if (kind.is === 'switch') return Object.values(kind.words)[value === true ? 1 : 0];
  return kind.is === 'variables' ? usableEnv(value as Record<string, string>) : value;
}

/** Returns whether records show the setting. */
export function isRecorded(rest: Field['rest']): boolean {
  return rest !== undefined && !rest.bodyOnly;
}

function isNone(kind: Kind, value: unknown): boolean {
  return kind.is === 'text' && kind.none === true && value === '';
}

function present(kind: Kind, value: unknown): unknown {
  if (kind.is === 'word') return wordOf(kind, value);
  return kind.is === 'switch' ? value === Object.values(kind.words)[1] : value;
}
