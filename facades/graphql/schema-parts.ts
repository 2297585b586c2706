/** Fields of the public schema that are made from the descriptions of resources. `*.graphql` files say where: `# settings of ENDPOINT`. */
import { ENDPOINT } from '../resources/endpoints/endpoint-table.ts';
import type { Kind, Table } from '../resources/field.ts';

const TABLES: Readonly<Record<string, Table>> = { ENDPOINT };
const PLACE = /^ *# settings of (\w+)$/;

/** The text of a schema file with the fields in their places: those of an input inside of one, else those of a type. */
export function withSettings(schema: string): string {
  let isInput = false;
  const lines = schema.split('\n').map((line) => {
    if (/^(input|type) /.test(line)) isInput = line.startsWith('input');
    const [, name] = PLACE.exec(line) ?? [];
    if (name === undefined) return line;
    const table = TABLES[name];
    if (!table) throw new Error(`there is no description of ${name}`);
    return fieldsOf(table, isInput).join('\n');
  });
  return lines.join('\n');
}

function fieldsOf(table: Table, isInput: boolean): string[] {
  const shown = Object.values(table).filter(({ graphql }) => graphql !== undefined && (!isInput || graphql.in !== undefined));
  return shown.flatMap(({ kind, graphql }) => {
    const about = isInput ? graphql!.in : graphql!.out;
    return [...(about ? [`  """${about}"""`] : []), `  ${graphql!.name}: ${typeOf(kind, isInput)}${!isInput && graphql!.must ? '!' : ''}`];
  });
}

function typeOf(kind: Kind, isInput: boolean): string {
  switch (kind.is) {
    case 'whole': return 'Int';
    case 'flag': return 'Boolean';
    case 'texts': return kind.asList ? '[String!]' : 'String';
    case 'variables': return isInput ? '[EnvironmentVariableInput!]' : '[EnvironmentVariable!]';
    case 'switch': return kind.graphqlType;
    default: return 'String';
  }
}
