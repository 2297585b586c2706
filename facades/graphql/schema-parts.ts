/**
 * Fields of the public schema that are made from the descriptions of resources. `*.graphql` files mark their position:
 * `# settings of ENDPOINT`.
 */
import { ENDPOINT } from '../resources/endpoints/endpoint-table.ts';
import type { Kind, Table } from '../resources/field.ts';
import { POD } from '../resources/pods/pod-table.ts';
import { TEMPLATE } from '../resources/templates/template-table.ts';
import { VOLUME } from '../resources/volumes/volume-table.ts';

const TABLES: Readonly<Record<string, Table>> = { ENDPOINT, POD, TEMPLATE, VOLUME };
/** Matches a mark. An input for both creating and changing has neither suffix. */
const LOCATION = /^ *# settings of (\w+)(?: to (create|change))?$/;

/**
 * Returns the text of a schema file with the fields inserted: an input's fields inside an input, else a type's.
 */
export function withSettings(schema: string): string {
  let isInput = false;
  const lines = schema.split('\n').map((line) => {
    if (/^(input|type) /.test(line)) isInput = line.startsWith('input');
    const [, name, purpose] = LOCATION.exec(line) ?? [];
    if (name === undefined) return line;
    const table = TABLES[name];
    if (!table) throw new Error(`there is no description of ${name}`);
    return (isInput ? inputFields(table, purpose) : typeFields(table)).join('\n');
  });
  return lines.join('\n');
}

function typeFields(table: Table): string[] {
  return Object.values(table).flatMap(({ kind, graphql }) =>
    graphql ? line(graphql.out, `${graphql.name}: ${typeOf(kind, false)}${graphql.must ? '!' : ''}`) : [],
  );
}

function inputFields(table: Table, purpose: string | undefined): string[] {
  return Object.values(table).flatMap(({ kind, fixed, required, graphql }) => {
    if (graphql?.in === undefined || (fixed && purpose === 'change')) return [];
    const about = purpose === 'change' ? (graphql.change ?? graphql.in) : graphql.in;
    return line(about, `${graphql.name}: ${typeOf(kind, true)}${required && purpose === 'create' ? '!' : ''}`);
  });
}

function line(about: string | undefined, field: string): string[] {
  return [...(about ? [`  """${about}"""`] : []), `  ${field}`];
}

function typeOf(kind: Kind, isInput: boolean): string {
  switch (kind.is) {
    case 'whole':
      return 'Int';
    case 'flag':
      return 'Boolean';
    case 'texts':
      return kind.asList ? '[String!]' : 'String';
    case 'variables':
      return isInput ? '[EnvironmentVariableInput!]' : '[EnvironmentVariable!]';
    case 'switch':
      return kind.graphqlType;
    default:
      return 'String';
  }
}
