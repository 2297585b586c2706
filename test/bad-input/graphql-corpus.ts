/**
 * Wrong requests to /graphql and what each must be answered with. In documents `{endpoint}`, `{template}`, `{volume}`,
 * `{auth}` and `{pod}` are the account's own things (the endpoint has workersMax 1, the volume 5 GB), and the same with
 * `other` before them those of another.
 */

import type { BadGraphql } from './graphql-case.ts';
import { INVALID, KEY, MIB, named, UNREADABLE, VARIABLES } from './graphql-case.ts';
import { THINGS, VALUES } from './graphql-values.ts';

const BODIES = named<string | Uint8Array>(
  [
    ['empty body', ''],
    ['plain text', 'hello'],
    ['a document without its JSON', '{ myself { id } }'],
    ['cut off', '{"query":"{ myself'],
    ['an array', '[{"query":"{ myself { id } }"}]'],
    ['a text', '"{ myself { id } }"'],
    ['null', 'null'],
    ['no query', '{"variables":{}}'],
    ['query null', '{"query":null}'],
    ['query a number', '{"query":5}'],
    ['query an object', '{"query":{"myself":{"id":true}}}'],
    ['variables an array', '{"query":"{ myself { id } }","variables":[]}'],
    ['variables a text', '{"query":"{ myself { id } }","variables":"{}"}'],
    ['operationName a number', '{"query":"{ myself { id } }","operationName":1}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    [
      'half a character in a variable',
      '{"query":"query Q($id: String!) { endpoint(id: $id) { id } }","variables":{"id":"a\\ud800b"}}',
    ],
    ['half a character in a comment', '{"query":"# \\udfff\\n{ myself { id } }"}'],
    [
      'nested 200,000 deep',
      `{"query":"{ myself { id } }","variables":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`,
    ],
  ],
  UNREADABLE,
  (body) => ({ body }),
);

const HEADERS = [
  ...named<Record<string, string>>(
    [
      ['no key', { authorization: '' }],
      ['wrong key', { authorization: 'Bearer wrong' }],
      ['other scheme', { authorization: 'Basic dTpw' }],
    ],
    KEY,
    (headers) => ({ headers, query: '{ __typename }' }),
  ),
  {
    name: 'wrong key in the query',
    path: '/graphql?api_key=wrong',
    headers: { authorization: '' },
    query: '{ __typename }',
    ...KEY,
  },
  {
    name: 'a body of 1 MiB and a byte',
    body: JSON.stringify({ query: `{ myself { id } } #${'x'.repeat(MIB)}` }),
    status: 400,
    code: 'PAYLOAD_TOO_LARGE',
  },
];

const SYNTAX = named<string>(
  [
    ['empty document', ''],
    ['only a comment', '# nothing'],
    ['unclosed', '{ myself { id }'],
    ['empty selection', '{ myself { } }'],
    ['unclosed text', 'mutation { deleteEndpoint(id: "{endpoint}) }'],
    ['NUL in a document', '{ myself { i\0d } }'],
    ['over 4,000 tokens', `{ ${'id '.repeat(4_000)} }`],
    [
      'half a character in a document',
      'mutation { saveEndpoint(input: { id: "{endpoint}", name: "a\\ud800b" }) { id } }',
    ],
    ['JSON for a document', '{"myself":{"id":1}}'],
  ],
  INVALID,
  (query) => ({ query }),
);

const VALIDATION = named<string>(
  [
    ['unknown field', '{ nothing }'],
    ['unknown field of a type', '{ myself { endpoints { secret } } }'],
    ['unknown mutation', 'mutation { deleteAccount }'],
    [
      'a raw call',
      'mutation { slipway_v1_EndpointService_DeleteEndpoint(input: { id: "{endpoint}" }) { __typename } }',
    ],
    ['a raw read', '{ slipway_v1_EndpointService_ListEndpoints }'],
    ['a subscription', 'subscription { myself { id } }'],
    ['no selection', '{ myself }'],
    ['a selection of nothing', 'mutation { deleteEndpoint(id: "{endpoint}") { id } }'],
    ['argument missing', 'mutation { deleteEndpoint }'],
    ['argument null', 'mutation { deleteEndpoint(id: null) }'],
    ['argument a number', 'mutation { deleteEndpoint(id: 5) }'],
    ['unknown argument', 'mutation { deleteEndpoint(id: "{endpoint}", force: true) }'],
    ['unknown input field', 'mutation { saveEndpoint(input: { id: "{endpoint}", workers: 3 }) { id } }'],
    ['required input field missing', 'mutation { createNetworkVolume(input: { name: "x", size: 1 }) { id } }'],
    [
      'unknown enum value in quotes',
      'mutation { saveEndpoint(input: { id: "{endpoint}", flashBootType: "TURBO" }) { id } }',
    ],
    ['unknown enum value', 'mutation { saveEndpoint(input: { id: "{endpoint}", flashBootType: TURBO }) { id } }'],
    ['a text for a number', 'mutation { saveEndpoint(input: { id: "{endpoint}", idleTimeout: "5" }) { id } }'],
    ['a fraction for a number', 'mutation { saveEndpoint(input: { id: "{endpoint}", idleTimeout: 5.5 }) { id } }'],
    [
      'a number beyond 32 bits',
      'mutation { saveEndpoint(input: { id: "{endpoint}", idleTimeout: 4294967296 }) { id } }',
    ],
    ['a word for a text', 'mutation { saveEndpoint(input: { id: "{endpoint}", scalerType: QUEUE_DELAY }) { id } }'],
    ['env as an object', 'mutation { saveTemplate(input: { id: "{template}", env: { A: "1" } }) { id } }'],
    ['undefined variable', 'mutation { deleteEndpoint(id: $id) }'],
    ['unused variable', 'query Q($id: String!) { myself { id } }'],
    ['variable of an unknown type', 'query Q($input: PodInput) { pod(input: $input) { id } }'],
    ['variable of another type', 'mutation M($id: Int!) { deleteEndpoint(id: $id) }'],
    ['a nullable variable for a required argument', 'mutation M($id: String) { deleteEndpoint(id: $id) }'],
    ['unknown directive', '{ myself @cached { id } }'],
    ['unknown fragment', '{ myself { ...all } }'],
    ['fragment on an unknown type', '{ myself { ... on Account { id } } }'],
    ['fragment that includes itself', '{ myself { ...a } } fragment a on User { id ...a }'],
    [
      'fragments that include each other',
      '{ myself { ...a } } fragment a on User { ...b } fragment b on User { ...a }',
    ],
    ['two operations of one name', 'query A { myself { id } } query A { myself { email } }'],
    ['a nameless operation beside another', '{ myself { id } } query A { myself { email } }'],
    ['one alias for two fields', '{ myself { x: id x: email } }'],
    ['21 fields at the top', `{ ${Array.from({ length: 21 }, (_, n) => `a${n}: myself { id }`).join(' ')} }`],
    [
      '21 fields at the top by a fragment',
      '{ ...many } fragment many on Query { ' +
        `${Array.from({ length: 21 }, (_, n) => `a${n}: myself { id }`).join(' ')} }`,
    ],
    [
      '21 changes at once',
      `mutation { ${Array.from({ length: 21 }, (_, n) => `a${n}: deleteEndpoint(id: "{endpoint}")`).join(' ')} }`,
    ],
    ['1,001 fields', `{ myself { ${Array.from({ length: 1_001 }, (_, n) => `a${n}: id`).join(' ')} } }`],
    [
      '1,001 fields by fragments',
      `{ myself { ...a } } fragment a on User { ${'...b '.repeat(40)} } fragment b on User { ${'id '.repeat(30)} }`,
    ],
    ['fragments that multiply without a field', `{ myself { ...a0 } } ${multiplied(13, '...missing')}`],
    ['fragments that multiply to a field', `{ myself { ...a0 } } ${multiplied(13, 'id')}`],
    ['a value nested 1,900 deep', `{ pod(input: ${'['.repeat(1_900)}${']'.repeat(1_900)}) { id } }`],
    ['a value nested 700 deep', `{ pod(input: ${'{a:'.repeat(700)}1${'}'.repeat(700)}) { id } }`],
    ['nested 1,900 deep', `${'{ myself '.repeat(1_900)}${'}'.repeat(1_900)}`],
    ['nested 16 deep', `{ myself ${'{ ... on User '.repeat(16)} { id } ${'}'.repeat(16)} }`],
  ],
  INVALID,
  (query) => ({ query }),
);

/** Fragments on User, each of which includes the next one eight times; the last holds `leaf`. */
function multiplied(levels: number, leaf: string): string {
  const inside = (n: number): string => (n === levels - 1 ? leaf : `...a${n + 1} `.repeat(8));
  return Array.from({ length: levels }, (_, n) => `fragment a${n} on User { ${inside(n)} }`).join(' ');
}

const SAVE = 'mutation Save($input: EndpointInput!) { saveEndpoint(input: $input) { id } }';
const WRONG_VARIABLES = named<unknown>(
  [
    ['variable missing', {}],
    ['variable null', { input: null }],
    ['variable a text', { input: 'x' }],
    ['unknown field in a variable', { input: { id: '{endpoint}', workers: 3 } }],
    ['a text for a number in a variable', { input: { id: '{endpoint}', idleTimeout: '5' } }],
    ['a fraction in a variable', { input: { id: '{endpoint}', idleTimeout: 5.5 } }],
    ['a number beyond 32 bits in a variable', { input: { id: '{endpoint}', idleTimeout: 2 ** 32 } }],
    ['unknown enum value in a variable', { input: { id: '{endpoint}', flashBootType: 'TURBO' } }],
    ['a boolean for a text in a variable', { input: { id: '{endpoint}', name: true } }],
    ['null within a list in a variable', { input: { id: '{endpoint}', env: [null] } }],
  ],
  VARIABLES,
  (variables) => ({ query: SAVE, variables }),
);

const OPERATIONS = named<string>(
  [
    ['unknown operationName', '{"query":"query A { myself { id } }","operationName":"B"}'],
    ['two operations without operationName', '{"query":"query A { myself { id } } query B { myself { id } }"}'],
  ],
  INVALID,
  (body) => ({ body }),
);

/** All of them. */
export const GRAPHQL_CORPUS: BadGraphql[] = [
  ...BODIES,
  ...HEADERS,
  ...SYNTAX,
  ...VALIDATION,
  ...WRONG_VARIABLES,
  ...OPERATIONS,
  ...VALUES,
  ...THINGS,
];
