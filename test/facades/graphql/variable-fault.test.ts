/** Errors of graphql-js about invalid variables, without the client's values in them. */

import { withoutValue } from '@slipway/facades/graphql/variable-fault';
import { buildSchema, graphqlSync } from 'graphql';
import t from 'tap';

const schema = buildSchema(`
  enum Kind { ONE TWO }
  input Inner { secret: String! kind: Kind count: Int on: Boolean list: [String!] }
  input Input { name: String! inner: Inner }
  type Query { look(input: Input!): String }
`);

const SECRET = 'hunter2; at "input.name"; Field';

/** Returns the only error for some variables. */
function faultOf(input: unknown): string {
  const { errors } = graphqlSync({
    schema,
    source: 'query ($input: Input!) { look(input: $input) }',
    variableValues: { input },
  });
  return errors![0]!.message;
}

/** A fault of `$input`, at a place in it if not at its top. */
const GOT = 'Variable "$input" got invalid value';

const CASES: [input: unknown, text: string][] = [
  [{ name: SECRET, other: SECRET }, `${GOT}; Field "other" is not defined by type "Input". Did you mean "inner"?`],
  [{ inner: { secret: SECRET } }, `${GOT}; Field "name" of required type "String!" was not provided.`],
  [
    { name: SECRET, inner: { secret: 12345 } },
    `${GOT} at "input.inner.secret"; String cannot represent a non string value`,
  ],
  [
    { name: SECRET, inner: { secret: { hunter2: 1 } } },
    `${GOT} at "input.inner.secret"; String cannot represent a non string value`,
  ],
  [
    { name: SECRET, inner: { secret: null } },
    `${GOT} at "input.inner.secret"; Expected non-nullable type "String!" not to be null`,
  ],
  [{ name: SECRET, inner: SECRET }, `${GOT} at "input.inner"; Expected type "Inner" to be an object`],
  [
    { name: 'n', inner: { secret: 's', count: 1.5 } },
    `${GOT} at "input.inner.count"; Int cannot represent non-integer value`,
  ],
  [
    { name: 'n', inner: { secret: 's', count: 1e10 } },
    `${GOT} at "input.inner.count"; Int cannot represent non 32-bit signed integer value`,
  ],
  [
    { name: 'n', inner: { secret: 's', on: SECRET } },
    `${GOT} at "input.inner.on"; Boolean cannot represent a non boolean value`,
  ],
  [
    { name: 'n', inner: { secret: 's', kind: 'hunter2' } },
    `${GOT} at "input.inner.kind"; does not exist in "Kind" enum`,
  ],
  [
    { name: 'n', inner: { secret: 's', list: [SECRET, 7] } },
    `${GOT} at "input.inner.list[1]"; String cannot represent a non string value`,
  ],
];

t.test('each kind of fault', async (t) => {
  for (const [input, text] of CASES) {
    const said = faultOf(input);
    t.match(said, /got invalid value/, said);
    t.equal(withoutValue(said), text);
  }
});

t.test('no value stays, whatever it is; other texts stay as they are', async (t) => {
  t.notMatch(withoutValue(`Variable "$i" got invalid value "hunter2"; something new about hunter2`), /hunter2/);
  t.equal(
    withoutValue('Variable "$i" of required type "X!" was not provided.'),
    'Variable "$i" of required type "X!" was not provided.',
  );
});
