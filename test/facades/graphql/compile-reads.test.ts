/**
 * A compiled document gives exactly the answer of an executed one: values, nulls, errors with their paths, variables,
 * fragments, lists.
 */

import { compileReads } from '@slipway/facades/graphql/compile-reads';
import type { ExecutionArgs, ExecutionResult, GraphQLFieldResolver, GraphQLObjectType } from 'graphql';
import { buildSchema, execute, GraphQLError, parse } from 'graphql';
import t from 'tap';

const schema = buildSchema(`
  enum Kind { A B }
  input Filter { id: String ids: [String!] count: Int = 3 }
  type Thing { id: String! name: String kind: Kind size: Int things: [Thing!]! broken: String sure: String! echo(filter: Filter): String }
  type Query { thing(id: String!): Thing things: [Thing!]! }
  type Mutation { make(id: String!): Thing }
`);

interface Thing {
  id: string;
  name: null;
  kind: string;
  size: number;
  leaf: boolean;
}

const thing = (id: string, leaf = false): Thing => ({ id, name: null, kind: 'A', size: 5, leaf });

/** As in the public schema: fields that are more than a value have resolvers. */
const RESOLVERS: Record<string, Record<string, GraphQLFieldResolver<Thing, unknown>>> = {
  Query: {
    thing: (_root, { id }: { id: string }) => (id === 'none' ? null : Promise.resolve(thing(id))),
    things: () => [thing('a'), thing('b')],
  },
  Mutation: { make: () => thing('m') },
  Thing: {
    things: ({ id, leaf }) => Promise.resolve(leaf ? [] : [1, 2].map((n) => thing(`${id}${n}`, true))),
    broken: () => Promise.reject(new GraphQLError('broken', { extensions: { code: 'RUNPOD', reason: 'NOT_FOUND' } })),
    sure: () => {
      throw new GraphQLError('not sure', { extensions: { code: 'RUNPOD', reason: 'INTERNAL' } });
    },
    echo: (_thing, args: object) => JSON.stringify(args),
  },
};
for (const [type, fields] of Object.entries(RESOLVERS)) {
  for (const [name, resolve] of Object.entries(fields))
    (schema.getType(type) as GraphQLObjectType).getFields()[name]!.resolve = resolve;
}

/** Returns what a client could see of a result. */
function shown({ data, errors }: ExecutionResult): unknown {
  const seen = errors?.map(({ message, path, extensions }) => ({ message, path, extensions }));
  return JSON.parse(JSON.stringify({ data, ...(seen ? { errors: seen } : {}) }));
}

const DOCUMENTS: [name: string, query: string, variables?: Record<string, unknown>, operationName?: string][] = [
  ['values', '{ thing(id: "x") { id name kind size __typename } }'],
  ['a null', '{ thing(id: "none") { id } }'],
  ['lists within lists', '{ things { id things { id things { id } } } }'],
  ['a broken field', '{ thing(id: "x") { id broken } }'],
  ['a broken field in a list', '{ things { id broken things { broken } } }'],
  ['a broken field that is never null', '{ things { id sure } }'],
  ['one that is never null, below one that may be', '{ thing(id: "x") { id sure } other: thing(id: "y") { id } }'],
  [
    'aliases and fragments',
    '{ a: thing(id: "x") { ...all } b: thing(id: "y") { ...all ... on Thing { size } } } fragment all on ' +
      'Thing { k: kind id }',
  ],
  [
    'variables',
    'query Q($id: String!, $filter: Filter) { thing(id: $id) { id echo(filter: $filter) } }',
    { id: 'v', filter: { ids: ['a'] } },
  ],
  [
    'variables with nulls',
    'query Q($id: String!, $filter: Filter) { thing(id: $id) { echo(filter: $filter) } }',
    { id: 'v', filter: { id: null } },
  ],
  [
    'no optional variable',
    'query Q($id: String = "d", $filter: Filter) { thing(id: $id) { id echo(filter: $filter) } }',
    {},
  ],
  [
    'skip and include',
    'query Q($on: Boolean!) { thing(id: "x") { id @include(if: $on) name @skip(if: $on) size } }',
    { on: true },
  ],
  ['the second of two operations', 'query A { thing(id: "a") { id } } query B { thing(id: "b") { id } }', {}, 'B'],
  ['a change', 'mutation { make(id: "x") { id name } }'],
  ['introspection', '{ __schema { queryType { name fields { name args { name type { kind name } } } } } }'],
];

for (const [name, query, variableValues, operationName] of DOCUMENTS) {
  t.test(name, async (t) => {
    const plugin = compileReads();
    const args: ExecutionArgs = { schema, document: parse(query), contextValue: {}, variableValues, operationName };
    const plain = shown(await execute(args));
    let compiled = 0;
    for (let run = 0; run < 5; run += 1) {
      let executeIt: (args: ExecutionArgs) => unknown = execute;
      plugin.onExecute({
        args,
        setExecuteFn: (given) => {
          executeIt = given;
          if (given !== execute) compiled += 1;
        },
      });
      t.same(shown((await executeIt(args)) as ExecutionResult), plain);
    }
    t.equal(compiled, query.startsWith('mutation') ? 0 : 3, 'from the third run on, reads only');
  });
}

t.test('variables that do not fit: an error and no data', async (t) => {
  const plugin = compileReads();
  const document = parse('query Q($id: String!) { thing(id: $id) { id } }');
  for (let run = 0; run < 4; run += 1) {
    const args: ExecutionArgs = { schema, document, variableValues: { id: run === 3 ? { secret: 1 } : 'x' } };
    let executeIt: (args: ExecutionArgs) => unknown = execute;
    plugin.onExecute({
      args,
      setExecuteFn: (given) => {
        executeIt = given;
      },
    });
    const { data, errors } = (await executeIt(args)) as ExecutionResult;
    t.equal(errors === undefined, run < 3);
    t.equal(data === undefined, run === 3);
    if (run === 3) t.same(shown({ data, errors }), shown(await execute(args)), 'said as by graphql-js');
    for (const error of errors ?? []) t.ok(error instanceof GraphQLError);
  }
});

t.test('of a document with many operations only some are compiled', async (t) => {
  const plugin = compileReads();
  const document = parse(Array.from({ length: 9 }, (_, n) => `query q${n} { thing(id: "x") { id } }`).join(' '));
  const compiled = new Set<string>();
  for (let run = 0; run < 27; run += 1) {
    const operationName = `q${run % 9}`;
    const args: ExecutionArgs = { schema, document, operationName, contextValue: {} };
    let executeIt: (args: ExecutionArgs) => unknown = execute;
    plugin.onExecute({
      args,
      setExecuteFn: (given) => {
        executeIt = given;
        if (given !== execute) compiled.add(operationName);
      },
    });
    t.same(shown((await executeIt(args)) as ExecutionResult), { data: { thing: { id: 'x' } } });
  }
  t.equal(compiled.size, 3);
});

t.test('a field of the name __proto__ is one like any other', async (t) => {
  const plugin = compileReads();
  const args: ExecutionArgs = { schema, document: parse('{ thing(id: "x") { __proto__: id } }'), contextValue: {} };
  for (let run = 0; run < 4; run += 1) {
    let executeIt: (args: ExecutionArgs) => unknown = execute;
    plugin.onExecute({
      args,
      setExecuteFn: (given) => {
        executeIt = given;
      },
    });
    t.equal(JSON.stringify(((await executeIt(args)) as ExecutionResult).data), '{"thing":{"__proto__":"x"}}');
  }
});
