/**
 * Converts a described resource between GraphQL inputs, GraphQL responses and the contract. The fields of the schema
 * are in schema-parts.ts.
 */
import { commandText } from '../resources/command-line.ts';
import type { Kind, Table } from '../resources/field.ts';
import { wordOf } from '../resources/field.ts';
import type { FieldChanges } from '../resources/mask-fields.ts';
import { change, noChanges } from '../resources/mask-fields.ts';
import { refused } from './core-calls.ts';
import type { CoreLong } from './core-message.ts';
import { numberOf } from './core-message.ts';
import type { EnvironmentVariable } from './list-text.ts';
import { environmentOf, listOf, textOf, variablesOf } from './list-text.ts';

const SHOWN_LENGTH_MAX = 64;

/** A message in the form of Mesh: enums are their names in the contract. */
export type MeshMessage<Message> = {
  [Name in keyof Message]: number extends Message[Name]
    ? Message[Name]
    : Message[Name] extends number
      ? string
      : Message[Name];
};

/**
 * Returns the settings that an input names; null counts as absent. `own`: values that the resource computes itself, by
 * the contract's names; `undefined` if absent. Throws GraphQLError if a word is unknown, or a variable has a name that
 * would be lost.
 */
export function inputChanges<Message extends object>(
  table: Table,
  input: object,
  own: { [Name in keyof Message]?: Message[Name] | undefined } = {},
): FieldChanges<Message> {
  const changes = noChanges<Message>();
  for (const [name, { kind, graphql }] of Object.entries(table)) {
    const field = name as keyof Message & string;
    const given =
      graphql?.in === undefined ? undefined : ((input as Record<string, unknown>)[graphql.name] ?? undefined);
    if (field in own) change(changes, field, own[field]);
    else if (given === undefined) change(changes, field, undefined);
    else change(changes, field, read(graphql!.name, kind, given) as Message[typeof field]);
  }
  return changes;
}

/**
 * Returns the settings of a message as fields of its public type. Zero and empty values are absent on the wire, so each
 * field has its default here.
 */
export function shownFields(table: Table, message: object): Record<string, unknown> {
  const shown = Object.entries(table).flatMap(([name, { kind, graphql }]) =>
    graphql ? [[graphql.name, present(kind, (message as Record<string, unknown>)[name])] as const] : [],
  );
  return Object.fromEntries(shown);
}

function read(name: string, kind: Kind, value: unknown): unknown {
  switch (kind.is) {
    case 'texts':
      return kind.asList ? value : listOf(value as string);
    case 'variables':
      return environmentOf(value as EnvironmentVariable[]);
    case 'word':
      return word(name, kind, value as string);
    case 'switch':
      return `${kind.prefix}${value as string}`;
    default:
      return value;
  }
}

/** Converts a word. Clients send these words as strings, so the schema cannot check them. */
function word(name: string, { words, prefix }: Kind & { is: 'word' }, value: string): string {
  if (Object.hasOwn(words, value)) return prefix + value;
  throw refused(
    `${name} is ${JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX))}, but must be ${Object.keys(words).join(' or ')}.`,
  );
}

function present(kind: Kind, value: unknown): unknown {
  switch (kind.is) {
    case 'text':
      return value || (kind.none ? null : '');
    case 'command':
      return commandText((value as string[] | undefined) ?? []);
    case 'whole':
      return numberOf(value as number | CoreLong | undefined);
    case 'flag':
      return value ?? false;
    case 'texts':
      return kind.asList ? (value ?? []) : textOf(value as string[] | undefined);
    case 'variables':
      return variablesOf(value as Record<string, string> | undefined);
    case 'word':
    case 'switch':
      return wordOf(kind, value);
  }
}
