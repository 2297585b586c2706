/**
 * The cost of a document is known before it is executed. Counting it must be cheap for every document that the parser
 * accepts.
 */

import { boundsRule, FIELDS_MAX, hasTooManyLines, LINES_MAX, TOKENS_MAX } from '@slipway/facades/graphql/bounds';
import { buildSchema, parse, validate } from 'graphql';
import t from 'tap';

const schema = buildSchema('type Query { id: ID, own: Query }');

function faults(text: string): string[] {
  return validate(schema, parse(text, { maxTokens: TOKENS_MAX }), [boundsRule]).map(({ message }) => message);
}

/** Fragments each of which includes the next one eight times; the last holds `leaf`. */
function multiplied(levels: number, leaf: string): string {
  const inside = (n: number): string => (n === levels - 1 ? leaf : `...a${n + 1} `.repeat(8));
  return Array.from({ length: levels }, (_, n) => `fragment a${n} on Query { ${inside(n)} }`).join(' ');
}

t.setTimeout(30_000);
for (const [leaf, name] of [
  ['...missing', 'no fragment'],
  ['id', 'a field'],
  ['... { ...missing }', 'nothing within'],
]) {
  t.test(`fragments that multiply and end in ${name}`, async (t) => {
    t.same(faults(`{ own { ...a0 } } ${multiplied(13, leaf!)}`), [
      `The document has more than ${FIELDS_MAX} fields and fragments.`,
    ]);
  });
}

t.test('fragments that multiply within the bound', async (t) => {
  t.same(faults(`{ own { ...a0 } } ${multiplied(3, 'id')}`), []);
});

t.test('as many fields as may be', async (t) => {
  const fields = (count: number): string =>
    `{ ${Array.from({ length: 10 }, (_, n) => `a${n}: own { ${'id '.repeat(count)} }`).join(' ')} }`;
  t.same(faults(fields(99)), []);
  t.same(faults(fields(100)), [`The document has more than ${FIELDS_MAX} fields and fragments.`]);
});

t.test('lines, however they end', async (t) => {
  for (const end of ['\n', '\r']) {
    t.notOk(hasTooManyLines(`{ id }${end.repeat(LINES_MAX - 1)}`));
    t.ok(hasTooManyLines(`{ id }${end.repeat(LINES_MAX)}`));
  }
});
