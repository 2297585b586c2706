/**
 * Wrong requests to the REST surface and what each must be answered with. Every case is sent with the account's key
 * unless it says otherwise. Names in braces are things of the account: `{endpoint}` has workers, `{template}`,
 * `{volume}` and `{auth}` are used by it, `{freeTemplate}` and `{freeVolume}` (100 GB) are not, `{pod}` is locked,
 * `{worker}` is one of the endpoint; `{other…}` are another account's.
 */
import type { BadRequest } from './bad-request.ts';
import { bad, gone, MIB, many, named, template } from './rest-cases.ts';
import { REST_FIELDS_CORPUS } from './rest-fields-corpus.ts';

/** Bodies that are no JSON object, or no text. All but the last lines are a template with one fault. */
const GRAMMAR = named<string | Uint8Array>(
  [
    ['empty body', ''],
    ['blank body', ' \n'],
    ['plain text', 'hello'],
    ['cut off', '{"name":"a","imageName":'],
    ['trailing comma', '{"name":"a","imageName":"x",}'],
    ['two documents', `${template('a')}${template('b')}`],
    ['single quotes', "{'name':'a','imageName':'x'}"],
    ['NaN', '{"name":"a","imageName":"x","volumeInGb":NaN}'],
    ['an array', `[${template('a')}]`],
    ['a text', '"name"'],
    ['null', 'null'],
    ['true', 'true'],
    ['an empty object', '{}'],
    [
      'byte that is no UTF-8',
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('","imageName":"x"}')]),
    ],
    [
      'lone surrogate as raw bytes',
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('","imageName":"x"}')]),
    ],
    ['byte order mark', `\ufeff${template('a')}`],
    ['lone high surrogate', template('a\\ud800')],
    ['lone low surrogate', template('\\udc00a')],
    ['pair in the wrong order', template('\\udc00\\ud800')],
    ['half a pair and a letter', template('\\ud83d\\u0041')],
    ['half a pair behind a whole one', template('\\ud83d\\ude00\\ud83d')],
    ['lone surrogate in a name of a variable', '{"name":"a","imageName":"x","env":{"\\ud800":"1"}}'],
    ['lone surrogate in an unknown member', '{"name":"a","imageName":"x","note":"\\ud800"}'],
    ['NUL in a name', template('a\\u0000b')],
    ['NUL in an environment', '{"name":"a","imageName":"x","env":{"A":"\\u0000"}}'],
    ['NUL in a command', '{"name":"a","imageName":"x","dockerStartCmd":["\\u0000"]}'],
    ['100,000 open brackets', '['.repeat(100_000)],
    [
      'environment nested 10,000 deep',
      `{"name":"a","imageName":"x","env":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_001)}`,
    ],
  ],
  (body) => ({ path: '/v1/templates', body, ...bad }),
);

const CONTENT_TYPES = named<[string, string | Uint8Array, Record<string, string>?]>(
  [
    ['form', ['application/x-www-form-urlencoded', 'name=a&imageName=x']],
    [
      'multipart form',
      ['multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="name"\r\n\r\na\r\n--b--\r\n'],
    ],
    ['XML', ['application/xml', '<template/>']],
    ['YAML', ['application/yaml', 'name: a\nimageName: x\n']],
    [
      'said to be compressed, but not',
      ['application/json', Buffer.from(template('a')), { 'content-encoding': 'gzip' }],
    ],
  ],
  ([type, body, headers]) => ({ path: '/v1/templates', body, headers: { 'content-type': type, ...headers }, ...bad }),
);

const CONFLICTS: BadRequest[] = [
  {
    name: 'template name taken',
    path: '/v1/templates',
    body: '{"name":"used","imageName":"x"}',
    status: 400,
    code: 'name_taken',
  },
  {
    name: 'template renamed to a taken name',
    method: 'PATCH',
    path: '/v1/templates/{freeTemplate}',
    body: '{"name":"used"}',
    status: 400,
    code: 'name_taken',
  },
  {
    name: 'credentials name taken',
    path: '/v1/containerregistryauth',
    body: '{"name":"used","username":"a","password":"b"}',
    status: 400,
    code: 'name_taken',
  },
  ...named<string>(
    [
      ['delete a template in use', 'templates/{template}'],
      ['delete a network volume in use', 'networkvolumes/{volume}'],
      ['delete credentials in use', 'containerregistryauth/{auth}'],
    ],
    (path) => ({ method: 'DELETE', path: `/v1/${path}`, status: 400, code: 'in_use' }),
  ),
];

/** Every way to name one thing of a group: method, what follows the id, body. */
const OPERATIONS: Record<string, [method: string, after: string, body?: string][]> = {
  endpoints: [
    ['GET', ''],
    ['PATCH', '', '{"name":"x"}'],
    ['POST', '/update', '{"name":"x"}'],
    ['DELETE', ''],
  ],
  templates: [
    ['GET', ''],
    ['PATCH', '', '{"name":"x"}'],
    ['POST', '/update', '{"name":"x"}'],
    ['DELETE', ''],
  ],
  networkvolumes: [
    ['GET', ''],
    ['PATCH', '', '{"name":"x"}'],
    ['POST', '/update', '{"name":"x"}'],
    ['DELETE', ''],
  ],
  containerregistryauth: [
    ['GET', ''],
    ['DELETE', ''],
  ],
  pods: [
    ['GET', ''],
    ['PATCH', '', '{"name":"x"}'],
    ['POST', '/update', '{"name":"x"}'],
    ['DELETE', ''],
    ['POST', '/start'],
    ['POST', '/stop'],
    ['POST', '/reset'],
    ['POST', '/restart'],
  ],
};
const CODES: Record<string, string> = { endpoints: 'endpoint_not_found', templates: 'template_not_found' };
const OTHERS: Record<string, string> = {
  endpoints: '{otherEndpoint}',
  templates: '{otherTemplate}',
  networkvolumes: '{otherVolume}',
  containerregistryauth: '{otherAuth}',
  pods: '{otherPod}',
};

/** Ids that name nothing, or nothing of this account. */
const IDS: BadRequest[] = Object.entries(OPERATIONS).flatMap(([group, operations]) =>
  operations.flatMap(([method, after, body = '']) =>
    [
      ['unknown', 'aaaaaaaaaaaaaa'],
      ["another account's", OTHERS[group]!],
    ].map(([what, id]) => ({
      name: `${what} id: ${method} ${group}${after}`,
      method,
      path: `/v1/${group}/${id}${after}`,
      body,
      ...gone(CODES[group] ?? 'not_found'),
    })),
  ),
);

const FORMS_OF_IDS = named<string>(
  [
    ['id NUL', '%00'],
    ['id with a slash', 'a%2fb'],
    ['id with dots', '%2e%2e%2ftemplates'],
    ['id with quotes', "'%20OR%20'1'='1"],
    ['id of 900 characters', 'a'.repeat(900)],
    ['id in other letters', '%D0%B0'],
  ],
  (id) => ({ method: 'GET', path: `/v1/pods/${id}`, ...gone('not_found') }),
);

const ROUTES = named<[string, string]>(
  [
    ['POST /containerregistryauth/{id}/update', ['POST', '/v1/containerregistryauth/{auth}/update']],
    ['POST /pods/{id}/explode', ['POST', '/v1/pods/{pod}/explode']],
    ['GET /billing', ['GET', '/v1/billing']],
    ['GET /billing/templates', ['GET', '/v1/billing/templates']],
    ['another version', ['GET', '/v1.1/endpoints']],
    ['group in capitals', ['GET', '/v1/Endpoints']],
    ['no group', ['GET', '/v1']],
  ],
  ([method, path]) => ({ method, path, body: method === 'POST' ? '{}' : '', ...gone('not_found') }),
);

const METHODS = named<[string, string]>(
  [
    ['PUT /endpoints/{id}', ['PUT', '/v1/endpoints/{endpoint}']],
    ['DELETE /endpoints', ['DELETE', '/v1/endpoints']],
    ['POST /endpoints/{id}', ['POST', '/v1/endpoints/{endpoint}']],
    ['PATCH /containerregistryauth/{id}', ['PATCH', '/v1/containerregistryauth/{auth}']],
    ['GET /pods/{id}/start', ['GET', '/v1/pods/{pod}/start']],
    ['POST /billing/pods', ['POST', '/v1/billing/pods']],
    ['DELETE /docs', ['DELETE', '/v1/docs']],
    ['POST /openapi.json', ['POST', '/v1/openapi.json']],
  ],
  ([method, path]) => ({ method, path, body: method === 'POST' ? '{}' : '', status: 405, code: 'method_not_allowed' }),
);

const QUERIES = named<string>(
  [
    ['include a number', 'endpoints?includeTemplate=1'],
    ['include yes', 'endpoints?includeWorkers=yes'],
    ['include in capitals', 'endpoints?includeTemplate=True'],
    ['include empty', 'pods?includeMachine='],
    ['include twice', 'endpoints?includeTemplate=true&includeTemplate=false'],
    ['include of one pod wrong', 'pods/{pod}?includeTemplate=2'],
    ['include of templates wrong', 'templates?includePublicTemplates=maybe'],
    ['computeType unknown in a filter', 'pods?computeType=TPU'],
    ['desiredStatus in small letters', 'pods?desiredStatus=running'],
    ['21 GPU types in a filter', `pods?${many(21, 'gpuTypeId=a').join('&')}`],
    ['name twice', 'pods?name=a&name=b'],
    ['name of 192 characters in a filter', `pods?name=${'n'.repeat(192)}`],
    ['bucketSize unknown', 'billing/pods?bucketSize=minute'],
    ['grouping of another group', 'billing/pods?grouping=endpointId'],
    ['grouping unknown', 'billing/endpoints?grouping=mood'],
    ['startTime a word', 'billing/endpoints?startTime=yesterday'],
    ['startTime a number', 'billing/endpoints?startTime=1700000000'],
    ['startTime without a zone', 'billing/endpoints?startTime=2026-01-01T00:00:00'],
    ['startTime of no calendar', 'billing/endpoints?startTime=2026-02-30T00:00:00Z'],
    ['leap second', 'billing/endpoints?startTime=2016-12-31T23:59:60Z'],
    ['times out of order', 'billing/endpoints?startTime=2026-02-01T00:00:00Z&endTime=2026-01-01T00:00:00Z'],
    [
      '10,000 hours and more',
      'billing/networkvolumes?bucketSize=hour&startTime=2020-01-01T00:00:00Z&endTime=2022-01-01T00:00:00Z',
    ],
  ],
  (path) => ({ method: 'GET', path: `/v1/${path}`, ...bad }),
);

const KEYS = named<Record<string, string>>(
  [
    ['no key', { authorization: '' }],
    ['wrong key', { authorization: 'Bearer wrong' }],
    ['other scheme', { authorization: 'Basic dTpw' }],
    ['bare key', { authorization: '{key}' }],
    ['key of an agent', { authorization: 'Bearer {agentKey}' }],
    ['root key', { authorization: 'Bearer {rootKey}' }],
    ['read-only key', { authorization: 'Bearer {readKey}' }],
  ],
  (headers) => ({ path: '/v1/templates', headers, body: template('new'), status: 401, code: 'unauthorized' }),
);

const KEYS_OF_DELETE = named<[string, Record<string, string>]>(
  [
    ['read-only key, delete', ['/v1/templates/{freeTemplate}', { authorization: 'Bearer {readKey}' }]],
    ['key in the query only', ['/v1/templates/{freeTemplate}?api_key={key}', { authorization: '' }]],
  ],
  ([path, headers]) => ({ method: 'DELETE', path, headers, status: 401, code: 'unauthorized' }),
);

const padded = (size: number) => () =>
  Buffer.from('{"name":"new","imageName":"x","note":""}'.replace('""', `"${'x'.repeat(size - 40)}"`));
const SIZES = named<[string, string, number]>(
  [
    ['template of 1 MiB and a byte', ['POST', '/v1/templates', MIB + 1]],
    ['change of 3 MiB', ['PATCH', '/v1/endpoints/{endpoint}', 3 * MIB]],
    ['stop with a body of 2 MiB', ['POST', '/v1/pods/{pod}/stop', 2 * MIB]],
  ],
  ([method, path, size]) => ({ method, path, body: padded(size), status: 400, code: 'payload_too_large' }),
);

/** All of them. */
export const REST_CORPUS: BadRequest[] = [
  ...GRAMMAR,
  ...CONTENT_TYPES,
  ...REST_FIELDS_CORPUS,
  ...CONFLICTS,
  ...IDS,
  ...FORMS_OF_IDS,
  ...ROUTES,
  ...METHODS,
  ...QUERIES,
  ...KEYS,
  ...KEYS_OF_DELETE,
  ...SIZES,
];
