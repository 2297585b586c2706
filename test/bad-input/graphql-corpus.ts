/**
 * Wrong requests to /graphql and what each must be answered with. In documents `{endpoint}`, `{template}`, `{volume}`,
 * `{auth}` and `{pod}` are the account's own things (the endpoint has workersMax 1, the volume 5 GB), and the same with
 * `other` before them those of another.
 */

/** One wrong request: a document, or a whole body. */
export interface BadGraphql {
  name: string;
  /** Default POST. */
  method?: string;
  /** Default /graphql. */
  path?: string;
  /** Over `authorization` and the content type. */
  headers?: Record<string, string>;
  query?: string;
  variables?: unknown;
  /** In place of query and variables. */
  body?: string | Uint8Array;
  status: number;
  /** `extensions.code` of the first error. */
  code: string;
  /** `extensions.reason` of the first error. */
  reason?: string;
}

type Expected = Pick<BadGraphql, 'status' | 'code' | 'reason'>;

const MIB = 1024 * 1024;
const UNREADABLE: Expected = { status: 400, code: 'INVALID_REQUEST' };
const INVALID: Expected = { status: 400, code: 'GRAPHQL_VALIDATION_FAILED' };
const VARIABLES: Expected = { status: 400, code: 'BAD_USER_INPUT' };
const KEY: Expected = { status: 401, code: 'UNAUTHORIZED' };
const refusedWith = (reason: string): Expected => ({ status: 200, code: 'RUNPOD', reason });

function named<Case>(
  list: [name: string, value: Case][],
  expected: Expected,
  make: (value: Case) => Partial<BadGraphql>,
): BadGraphql[] {
  return list.map(([name, value]) => ({ name, ...expected, ...make(value) }));
}

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

const save = (fields: string): string => `mutation { saveEndpoint(input: { id: "{endpoint}", ${fields} }) { id } }`;
const create = (fields: string): string =>
  `mutation { saveEndpoint(input: { name: "x", templateId: "{template}", ${fields} }) { id } }`;
const volume = (fields: string): string => `mutation { createNetworkVolume(input: { ${fields} }) { id } }`;
const registry = (fields: string): string => `mutation { saveRegistryAuth(input: { ${fields} }) { id } }`;
const pod = (fields: string): string => `mutation { podFindAndDeployOnDemand(input: { name: "x", ${fields} }) { id } }`;

/** Fields that are out of range or make no sense. */
const VALUES = named<string>(
  [
    ['workersMin above workersMax', save('workersMin: 5, workersMax: 2')],
    ['workersMin negative', save('workersMin: -1')],
    ['workersMax above 10,000', save('workersMax: 10001')],
    ['idleTimeout 0', save('idleTimeout: 0')],
    ['idleTimeout 3,601', save('idleTimeout: 3601')],
    ['scalerType unknown', save('scalerType: "BOTH"')],
    ['scalerType in small letters', save('scalerType: "queue_delay"')],
    ['scalerValue 0', save('scalerValue: 0')],
    ['workerConcurrency 0', save('workerConcurrency: 0')],
    ['workerConcurrency 101', save('workerConcurrency: 101')],
    ['type changed', save('type: "LB"')],
    ['type unknown', create('type: "SERVERLESS"')],
    ['gpuIds unknown', save('gpuIds: "AMPERE_17"')],
    ['gpuIds that exclude everything', save('gpuIds: "ADA_24,-NVIDIA GeForce RTX 4090"')],
    ['gpuCount negative', save('gpuCount: -1')],
    ['gpuCount 65', save('gpuCount: 65')],
    ['executionTimeoutMs 4,999', save('executionTimeoutMs: 4999')],
    ['executionTimeoutMs negative', save('executionTimeoutMs: -1')],
    ['allowedCudaVersions no version', save('allowedCudaVersions: "new"')],
    ['minCudaVersion no version', save('minCudaVersion: "latest"')],
    ['name empty on change', save('name: ""')],
    ['name of 192 characters', save(`name: "${'n'.repeat(192)}"`)],
    ['name with NUL', save('name: "a\\u0000b"')],
    ['env with a name that is none', save('env: [{ key: "1 A", value: "x" }]')],
    ['env with NUL', save('env: [{ key: "A", value: "\\u0000" }]')],
    ['template unknown on change', save('templateId: "none"')],
    ['template of another account', save('templateId: "{otherTemplate}"')],
    ['template for pods', save('templateId: "{podTemplate}"')],
    ['sizes of a GPU endpoint', save('instanceIds: ["cpu3c-2-4"]')],
    ['size that is none', create('instanceIds: ["big"]')],
    ['volume unknown', save('networkVolumeId: "none"')],
    ['volume of another account', save('networkVolumeId: "{otherVolume}"')],
    ['modelReferences', save('modelReferences: ["a/b"]')],
    ['hubReleaseId', create('hubReleaseId: "x"')],
    ['flashEnvironmentId', create('flashEnvironmentId: "x"')],
    ['template and templateId', create('template: { name: "t", imageName: "x" }')],
    ['no template', 'mutation { saveEndpoint(input: { name: "x" }) { id } }'],
    ['template without a name', 'mutation { saveTemplate(input: { imageName: "x" }) { id } }'],
    ['template without anything', 'mutation { saveTemplate { id } }'],
    [
      'template with negative disk',
      'mutation { saveTemplate(input: { id: "{template}", containerDiskInGb: -1 }) { id } }',
    ],
    [
      'template with a port that is none',
      'mutation { saveTemplate(input: { id: "{template}", ports: "http" }) { id } }',
    ],
    [
      'template with credentials of another account',
      'mutation { saveTemplate(input: { id: "{template}", containerRegistryAuthId: "{otherAuth}" }) { id } }',
    ],
    ['volume without a name', volume('name: "", size: 1, dataCenterId: "A"')],
    ['volume without a place', volume('name: "x", size: 1, dataCenterId: ""')],
    ['volume of negative size', volume('name: "x", size: -1, dataCenterId: "A"')],
    ['volume of 4,001 GB', volume('name: "x", size: 4001, dataCenterId: "A"')],
    ['volume that shrinks', 'mutation { updateNetworkVolume(input: { id: "{volume}", size: 4 }) { id } }'],
    ['credentials without a name', registry('name: "", username: "u", password: "p"')],
    ['credentials without a password', registry('name: "x", username: "u", password: ""')],
    [
      'credentials with a password of 16,385 characters',
      registry(`name: "x", username: "u", password: "${'p'.repeat(16_385)}"`),
    ],
    ['pod without anything to run', pod('gpuTypeId: "NVIDIA L4"')],
    ['pod with an unknown GPU', pod('imageName: "x", gpuTypeId: "NVIDIA Nothing"')],
    ['pod with an unknown template', pod('imageName: "x", templateId: "none"')],
    ['pod with a port that is none', pod('imageName: "x", ports: "all"')],
    ['pod with stopAfter', pod('imageName: "x", stopAfter: "2030-01-01T00:00:00Z"')],
    [
      'SSH key of 16,385 characters',
      `mutation { updateUserSettings(input: { pubKey: "${'k'.repeat(16_385)}" }) { id } }`,
    ],
  ],
  refusedWith('INVALID_REQUEST'),
  (query) => ({ query }),
);

/** Things that are not there, not the caller's, or in use. */
const THINGS = [
  ...named<string>(
    [
      ['unknown endpoint', 'mutation { saveEndpoint(input: { id: "none", name: "x" }) { id } }'],
      ['endpoint of another account', 'mutation { saveEndpoint(input: { id: "{otherEndpoint}", name: "x" }) { id } }'],
      ['delete an unknown endpoint', 'mutation { deleteEndpoint(id: "none") }'],
      ['delete an endpoint of another account', 'mutation { deleteEndpoint(id: "{otherEndpoint}") }'],
      ['delete an endpoint id with NUL', 'mutation { deleteEndpoint(id: "\\u0000") }'],
      [
        'other template for an endpoint of another account',
        'mutation { updateEndpointTemplate(input: { endpointId: "{otherEndpoint}", templateId: ' +
          '"{template}" }) { id } }',
      ],
      ['no input for another template', 'mutation { updateEndpointTemplate { id } }'],
    ],
    refusedWith('ENDPOINT_NOT_FOUND'),
    (query) => ({ query }),
  ),
  ...named<string>(
    [
      [
        'template of another account, change',
        'mutation { saveTemplate(input: { id: "{otherTemplate}", name: "x" }) { id } }',
      ],
      ['unknown template, delete', 'mutation { deleteTemplate(templateName: "none") }'],
      ['template without a name, delete', 'mutation { deleteTemplate }'],
      ['template of another account, delete', 'mutation { deleteTemplate(templateName: "other") }'],
    ],
    refusedWith('TEMPLATE_NOT_FOUND'),
    (query) => ({ query }),
  ),
  ...named<string>(
    [
      ['volume of another account, delete', 'mutation { deleteNetworkVolume(input: { id: "{otherVolume}" }) }'],
      [
        'volume of another account, change',
        'mutation { updateNetworkVolume(input: { id: "{otherVolume}", name: "x" }) { id } }',
      ],
      ['credentials of another account, delete', 'mutation { deleteRegistryAuth(registryAuthId: "{otherAuth}") }'],
      [
        'credentials of another account, change',
        'mutation { updateRegistryAuth(input: { id: "{otherAuth}", username: "u", password: "p" }) { id } }',
      ],
      ['unknown pod, stop', 'mutation { podStop(input: { podId: "none" }) { id } }'],
      ['unknown pod, resume', 'mutation { podResume(input: { podId: "none", gpuCount: 1 }) { id } }'],
      ['unknown pod, terminate', 'mutation { podTerminate(input: { podId: "none" }) }'],
    ],
    refusedWith('NOT_FOUND'),
    (query) => ({ query }),
  ),
  {
    name: 'delete with workers above zero',
    query: 'mutation { deleteEndpoint(id: "{endpoint}") }',
    ...refusedWith('WORKERS_NOT_ZERO'),
  },
  {
    name: 'template in use, delete',
    query: 'mutation { deleteTemplate(templateName: "own") }',
    ...refusedWith('IN_USE'),
  },
  {
    name: 'template name taken',
    query: 'mutation { saveTemplate(input: { name: "own", imageName: "x" }) { id } }',
    ...refusedWith('NAME_TAKEN'),
  },
  {
    name: 'credentials name taken',
    query: registry('name: "own", username: "u", password: "p"'),
    ...refusedWith('NAME_TAKEN'),
  },
  {
    name: 'pod without room',
    query: pod('imageName: "x", dockerArgs: "sleep 1", gpuTypeId: "NVIDIA H200"'),
    ...refusedWith('NO_CAPACITY'),
  },
];

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
