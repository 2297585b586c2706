/**
 * Wrong requests to the REST surface and what each must be answered with. Every case is sent with the account's key
 * unless it says otherwise. Names in braces are things of the account: `{endpoint}` has workers, `{template}`,
 * `{volume}` and `{auth}` are used by it, `{freeTemplate}` and `{freeVolume}` (100 GB) are not, `{pod}` is locked,
 * `{worker}` is one of the endpoint; `{other…}` are another account's.
 */
import type { BadRequest } from './corpus.ts';

const MIB = 1024 * 1024;
const bad = { status: 400, code: 'invalid_request' };
const gone = (code: string) => ({ status: 404, code });

type Cases<Value> = [name: string, value: Value][];

function named<Value>(cases: Cases<Value>, make: (value: Value) => Omit<BadRequest, 'name'>): BadRequest[] {
  return cases.map(([name, value]) => ({ name, ...make(value) }));
}

/** Bodies that are no JSON object, or no text. All but the last lines are a template with one fault. */
const template = (name: string) => `{"name":"${name}","imageName":"x"}`;
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

const many = (count: number, value: unknown): unknown[] => Array.from({ length: count }, () => value);

/** Fields of a wrong type or out of range, over a body that is right without them. */
function fields(method: string, path: string, right: object, cases: Cases<object | string>): BadRequest[] {
  return named(cases, (wrong) => {
    const whole = JSON.stringify(right);
    const body =
      typeof wrong === 'string'
        ? `${whole.slice(0, -1)}${whole === '{}' ? '' : ','}${wrong}}`
        : JSON.stringify({ ...right, ...wrong });
    return { method, path, body, ...bad };
  });
}

const TEMPLATES = fields('POST', '/v1/templates', { name: 'new', imageName: 'x' }, [
  ['template name missing', { name: undefined }],
  ['template name null', { name: null }],
  ['template name a number', { name: 1 }],
  ['template name empty', { name: '' }],
  ['template name of 192 characters', { name: 'n'.repeat(192) }],
  ['template image missing', { imageName: undefined }],
  ['template image an object', { imageName: {} }],
  ['template without image and command', { imageName: '' }],
  ['template env an array', { env: [] }],
  ['template env with a number', { env: { A: 1 } }],
  ['template env with null', { env: { A: null } }],
  ['template env with a name that starts with a digit', { env: { '1A': 'x' } }],
  [
    'template env of 1,001 variables',
    { env: Object.fromEntries(many(1_001, 'x').map((value, i) => [`A${i}`, value])) },
  ],
  ['template command a text', { dockerStartCmd: 'python handler.py' }],
  ['template command of 1,001 words', { dockerStartCmd: many(1_001, 'x') }],
  ['template disk 0', { containerDiskInGb: 0 }],
  ['template disk 65,537', { containerDiskInGb: 65_537 }],
  ['template disk a fraction', { containerDiskInGb: 1.5 }],
  ['template disk a text', { containerDiskInGb: '50' }],
  ['template volume negative', { volumeInGb: -1 }],
  ['template volume beyond all numbers', '"volumeInGb":1e400'],
  ['template volume beyond 64 bits', '"volumeInGb":18446744073709551616'],
  ['template volume twice, the last wrong', '"volumeInGb":1,"volumeInGb":-1'],
  ['template port 0', { ports: ['0/http'] }],
  ['template port 65,536', { ports: ['65536/tcp'] }],
  ['template port without a protocol', { ports: ['80'] }],
  ['template 101 ports', { ports: many(101, '80/http') }],
  ['template ports a text', { ports: '80/http' }],
  ['template category unknown', { category: 'TPU' }],
  ['template isServerless a text', { isServerless: 'true' }],
  ['template readme of 1,000,001 characters', { readme: 'r'.repeat(1_000_001) }],
  ['template with unknown registry credentials', { containerRegistryAuthId: 'aaaaaaaaaaaa' }],
  ["template with another account's registry credentials", { containerRegistryAuthId: '{otherAuth}' }],
]);

const ENDPOINTS = [
  ...fields('POST', '/v1/endpoints', { name: 'new', templateId: '{freeTemplate}', workersMax: 0 }, [
    ['endpoint without a template', { templateId: undefined }],
    ['endpoint of an unknown template', { templateId: 'aaaaaaaaaa' }],
    ['endpoint of a template for pods', { templateId: '{podTemplate}' }],
    ['CPU flavour unknown', { computeType: 'CPU', cpuFlavorIds: ['cpu9x'] }],
    ['CPU flavour of pods only', { computeType: 'CPU', cpuFlavorIds: ['cpu3m'] }],
    ['vcpuCount 0', { computeType: 'CPU', vcpuCount: 0 }],
    ['vcpuCount 1,025', { computeType: 'CPU', vcpuCount: 1_025 }],
    ['size that is none', { computeType: 'CPU', instanceIds: ['large'] }],
    ['size of a GPU endpoint', { instanceIds: ['cpu3c-2-4'] }],
    ["endpoint of another account's template", { templateId: '{otherTemplate}' }],
    ['endpoint name a list', { name: ['a'] }],
    ['endpoint name of 192 characters', { name: 'n'.repeat(192) }],
    ['workersMin above workersMax', { workersMin: 1 }],
    ['workersMax negative', { workersMax: -1 }],
    ['workersMax 10,001', { workersMax: 10_001 }],
    ['workersMax a text', { workersMax: '3' }],
    ['idleTimeout 0', { idleTimeout: 0 }],
    ['idleTimeout 3,601', { idleTimeout: 3_601 }],
    ['scalerType unknown', { scalerType: 'MAGIC' }],
    ['scalerType in small letters', { scalerType: 'queue_delay' }],
    ['scalerValue 0', { scalerValue: 0 }],
    ['workerConcurrency 101', { workerConcurrency: 101 }],
    ['executionTimeoutMs 4,999', { executionTimeoutMs: 4_999 }],
    ['executionTimeoutMs of 7 days and 1 ms', { executionTimeoutMs: 604_800_001 }],
    ['executionTimeoutMs beyond exact numbers', '"executionTimeoutMs":9007199254740993'],
    ['gpuCount 0', { gpuCount: 0 }],
    ['gpuCount 65', { gpuCount: 65 }],
    ['GPU type unknown', { gpuTypeIds: ['NVIDIA Voodoo 2'] }],
    ['GPU types a text', { gpuTypeIds: 'NVIDIA L4' }],
    ['101 GPU types', { gpuTypeIds: many(101, 'NVIDIA L4') }],
    ['CPU endpoint with GPUs', { computeType: 'CPU', gpuTypeIds: ['NVIDIA L4'] }],
    ['computeType unknown', { computeType: 'TPU' }],
    ['type unknown', { type: 'BATCH' }],
    ['flashboot a text', { flashboot: 'yes' }],
    ['CUDA version that is none', { allowedCudaVersions: ['twelve'] }],
    ['minCudaVersion that is none', { minCudaVersion: 'new' }],
    ['unknown network volume', { networkVolumeId: 'aaaaaaaaaa' }],
    ["another account's network volume", { networkVolumeIds: ['{otherVolume}'] }],
  ]),
  ...fields('PATCH', '/v1/endpoints/{endpoint}', {}, [
    ['change: workersMin above workersMax', { workersMin: 5 }],
    ["change: another account's template", { templateId: '{otherTemplate}' }],
    ['change: a template for pods', { templateId: '{podTemplate}' }],
    ['change: idleTimeout a fraction', { idleTimeout: 5.5 }],
    ['change: name empty', { name: '' }],
    ['change: type that every object has', { type: 'toString' }],
    ['change: computeType a number', { computeType: 5 }],
  ]),
  {
    name: 'delete an endpoint with workers',
    method: 'DELETE',
    path: '/v1/endpoints/{endpoint}',
    status: 400,
    code: 'workers_not_zero',
  },
];

const VOLUMES = [
  ...fields('POST', '/v1/networkvolumes', { name: 'new', size: 10, dataCenterId: 'EU-RO-1' }, [
    ['volume without a size', { size: undefined }],
    ['volume size null', { size: null }],
    ['volume size negative', { size: -1 }],
    ['volume size 4,001', { size: 4_001 }],
    ['volume size a text', { size: '10' }],
    ['volume size a fraction', { size: 0.5 }],
    ['volume without a name', { name: undefined }],
    ['volume name empty', { name: '' }],
    ['volume without a data centre', { dataCenterId: undefined }],
    ['volume data centre of 65 characters', { dataCenterId: 'd'.repeat(65) }],
    ['volume data centre a list', { dataCenterId: ['EU-RO-1'] }],
  ]),
  ...fields('PATCH', '/v1/networkvolumes/{freeVolume}', {}, [
    ['volume shrinks by 1', { size: 99 }],
    ['volume shrinks to 0', { size: 0 }],
    ['volume grows to 4,001', { size: 4_001 }],
    ['volume gets an empty name', { name: '' }],
    ['volume moves', { dataCenterId: 'US-1' }],
  ]),
];

const AUTHS = [
  ...fields('POST', '/v1/containerregistryauth', { name: 'new', username: 'me', password: 'secret' }, [
    ['credentials without a name', { name: undefined }],
    ['credentials without a user', { username: undefined }],
    ['credentials with an empty password', { password: '' }],
    ['credentials with a password that is a number', { password: 12 }],
    ['user of 1,025 characters', { username: 'u'.repeat(1_025) }],
    ['password of 16,385 characters', { password: 'p'.repeat(16_385) }],
  ]),
];

const PODS = [
  ...fields('POST', '/v1/pods', { name: 'new', computeType: 'CPU', imageName: 'x' }, [
    ['pod that runs nothing', { imageName: undefined }],
    ['pod of an unknown template', { templateId: 'aaaaaaaaaa' }],
    ["pod of another account's template", { templateId: '{otherTemplate}' }],
    ["pod on another account's volume", { networkVolumeId: '{otherVolume}' }],
    ["pod with another account's credentials", { containerRegistryAuthId: '{otherAuth}' }],
    ['pod computeType unknown', { computeType: 'TPU' }],
    ['pod cloudType unknown', { cloudType: 'MOON' }],
    ['pod gpuCount 0', { computeType: 'GPU', gpuCount: 0 }],
    ['pod with 65 GPUs', { computeType: 'GPU', gpuCount: 65 }],
    ['pod CPU with GPUs', { gpuTypeIds: ['NVIDIA L4'] }],
    ['pod GPU type unknown', { computeType: 'GPU', gpuTypeIds: ['none'] }],
    ['pod env a text', { env: 'A=1' }],
    ['pod port that is none', { ports: ['ssh'] }],
    ['pod disk 0', { containerDiskInGb: 0 }],
    ['pod locked a number', { locked: 1 }],
    ['pod vcpuCount 0', { vcpuCount: 0 }],
    ['pod size that is none', { instanceIds: ['large'] }],
    ['pod cpuFlavorPriority unknown', { cpuFlavorPriority: 'price' }],
    ['pod minDownloadMbps negative', { minDownloadMbps: -1 }],
  ]),
  ...named<[string, string, string?]>(
    [
      ['stop a locked pod', ['POST', '/v1/pods/{pod}/stop']],
      ['reset a locked pod', ['POST', '/v1/pods/{pod}/reset']],
      ['change a locked pod', ['PATCH', '/v1/pods/{pod}', '{"imageName":"y"}']],
      ['stop a worker', ['POST', '/v1/pods/{worker}/stop']],
      ['restart a worker', ['POST', '/v1/pods/{worker}/restart']],
      ['change a worker', ['POST', '/v1/pods/{worker}/update', '{"name":"mine"}']],
      ['delete a worker', ['DELETE', '/v1/pods/{worker}']],
    ],
    ([method, path, body]) => ({ method, path, body: body ?? '', status: 400, code: 'pod_fixed' }),
  ),
  {
    name: 'pod on a GPU that no machine has',
    path: '/v1/pods',
    body: '{"imageName":"x","gpuTypeIds":["NVIDIA H200"]}',
    status: 400,
    code: 'no_capacity',
  },
  {
    name: 'pod where no machine is',
    path: '/v1/pods',
    body: '{"imageName":"x","computeType":"CPU","dataCenterIds":["XX-1"]}',
    status: 400,
    code: 'no_capacity',
  },
];

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
  ...TEMPLATES,
  ...ENDPOINTS,
  ...VOLUMES,
  ...AUTHS,
  ...PODS,
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
