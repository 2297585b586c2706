/**
 * Wrong requests and what each must be answered with. Every case is POST /v2/{endpoint}/run with the account's key
 * unless it says otherwise. In paths `{endpoint}` and `{job}` are the account's own endpoint and a queued job of it,
 * `{otherEndpoint}` and `{otherJob}` those of another account, `{secondEndpoint}` a second endpoint of the own account.
 */

/** One wrong request. */
export interface BadRequest {
  name: string;
  method?: string;
  path?: string;
  /** Over `authorization` and a correct `content-length`. */
  headers?: Record<string, string>;
  /** Text is sent as UTF-8. */
  body?: string | Uint8Array | (() => Uint8Array);
  status: number;
  code: string;
}

/**
 * What is answered otherwise, by the case's name, where something stands before the facade that has a say. Here nothing
 * does.
 */
export const OTHERWISE = new Map<string, Pick<BadRequest, 'status'> & { code: string | undefined }>();

const MIB = 1024 * 1024;
const RUN = '/v2/{endpoint}/run';
const UNKNOWN = '00000000-0000-4000-8000-000000000000-u1';

/** The text of `head`, then these bytes, then `tail`. */
function bytes(head: string, middle: number[], tail: string): Uint8Array {
  return Buffer.concat([Buffer.from(head), Buffer.from(middle), Buffer.from(tail)]);
}

function named<Case>(
  list: [name: string, value: Case][],
  make: (value: Case) => Omit<BadRequest, 'name'>,
): BadRequest[] {
  return list.map(([name, value]) => ({ name, ...make(value) }));
}

const invalid = (code: string) => ({ status: 400, code });

/** Bodies that are no JSON object in UTF-8. */
const GRAMMAR = named<string | Uint8Array>(
  [
    ['empty body', ''],
    ['blank body', ' \n\t '],
    ['plain text', 'hello'],
    ['cut off', '{"input":{"a":1'],
    ['unclosed text', '{"input":{"a":"b}}'],
    ['trailing comma', '{"input":{},}'],
    ['trailing text', '{"input":{}} x'],
    ['two documents', '{"input":{}}{"input":{}}'],
    ['single quotes', "{'input':{}}"],
    ['bare name', '{input:{}}'],
    ['comment', '{"input":{}/* none */}'],
    ['NaN', '{"input":{"a":NaN}}'],
    ['Infinity', '{"input":{"a":-Infinity}}'],
    ['hexadecimal number', '{"input":{"a":0x10}}'],
    ['number with a leading zero', '{"input":{"a":007}}'],
    ['number with a plus', '{"input":{"a":+1}}'],
    ['number without digits after the point', '{"input":{"a":1.}}'],
    ['undefined', '{"input":undefined}'],
    ['raw NUL in a text', bytes('{"input":{"a":"', [0], '"}}')],
    ['raw NUL between values', bytes('{"input":', [0], '{}}')],
    ['raw line end in a text', '{"input":{"a":"b\nc"}}'],
    ['raw tab in a text', '{"input":{"a":"b\tc"}}'],
    ['unknown escape', '{"input":{"a":"\\x41"}}'],
    ['cut unicode escape', '{"input":{"a":"\\u12"}}'],
    ['unicode escape with wrong digits', '{"input":{"a":"\\u12g4"}}'],
    ['byte that is no UTF-8', bytes('{"input":{"a":"', [0xff], '"}}')],
    ['lone continuation byte', bytes('{"input":{"a":"', [0x80], '"}}')],
    ['overlong UTF-8', bytes('{"input":{"a":"', [0xc0, 0x80], '"}}')],
    ['lone surrogate as raw bytes', bytes('{"input":{"a":"', [0xed, 0xa0, 0x80], '"}}')],
    ['code point beyond Unicode', bytes('{"input":{"a":"', [0xf4, 0x90, 0x80, 0x80], '"}}')],
    ['cut UTF-8 sequence', bytes('{"input":{"a":"', [0xe2, 0x82], '"}}')],
    ['UTF-16', Buffer.from('\ufeff{"input":{}}', 'utf16le')],
    ['byte order mark', '\ufeff{"input":{}}'],
    ['an array', '[{"input":{}}]'],
    ['a text', '"input"'],
    ['a number', '1'],
    ['null', 'null'],
    ['true', 'true'],
    ['100,000 open brackets', '['.repeat(100_000)],
    ['100,000 nested arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['100,000 open objects inside input', '{"input":{"a":'.padEnd(500_000, '{"a":')],
  ],
  (body) => ({ body, ...invalid('invalid_request') }),
);

/** Content types whose bodies are no JSON. */
const CONTENT_TYPES = named<[string, string | Uint8Array, Record<string, string>?]>(
  [
    ['form', ['application/x-www-form-urlencoded', 'input=%7B%7D']],
    [
      'multipart form',
      ['multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="input"\r\n\r\n{}\r\n--b--\r\n'],
    ],
    ['XML', ['application/xml', '<input/>']],
    ['binary', ['application/octet-stream', Buffer.from([0x80, 0x04, 0x95, 0x00])]],
    ['JSON lines', ['application/x-ndjson', '{"input":{}}\n{"input":{}}\n']],
    [
      'said to be compressed, but not',
      ['application/json', Buffer.from('{"input":{}}'), { 'content-encoding': 'gzip' }],
    ],
  ],
  ([type, body, headers]) => ({ body, headers: { 'content-type': type, ...headers }, ...invalid('invalid_request') }),
);

/** `input` that is missing or no object. */
const INPUTS = named<string>(
  [
    ['input missing', '{}'],
    ['input misspelt', '{"Input":{}}'],
    ['input null', '{"input":null}'],
    ['input an array', '{"input":[]}'],
    ['input a text', '{"input":"{}"}'],
    ['input a number', '{"input":0}'],
    ['input true', '{"input":true}'],
    ['input twice, the last a number', '{"input":{},"input":5}'],
    ['input nested 257 deep', `{"input":${'{"a":'.repeat(256)}{}${'}'.repeat(256)}}`],
    ['input nested 10,000 deep', `{"input":${'{"a":'.repeat(9_999)}{}${'}'.repeat(9_999)}}`],
  ],
  (body) => ({ body, ...invalid('invalid_input') }),
);

/** `policy` of a wrong type or out of range. */
const POLICIES = named<string>(
  [
    ['policy a text', '"fast"'],
    ['policy an array', '[]'],
    ['policy a number', '1'],
    ['executionTimeout 4999', '{"executionTimeout":4999}'],
    ['executionTimeout 7 days and 1 ms', '{"executionTimeout":604800001}'],
    ['executionTimeout 0', '{"executionTimeout":0}'],
    ['executionTimeout negative', '{"executionTimeout":-600000}'],
    ['executionTimeout a text', '{"executionTimeout":"600000"}'],
    ['executionTimeout a fraction', '{"executionTimeout":5000.5}'],
    ['executionTimeout true', '{"executionTimeout":true}'],
    ['executionTimeout an array', '{"executionTimeout":[600000]}'],
    ['executionTimeout an object', '{"executionTimeout":{}}'],
    ['executionTimeout beyond all numbers', '{"executionTimeout":1e400}'],
    ['executionTimeout beyond 64 bits', '{"executionTimeout":18446744073709551616}'],
    ['executionTimeout beyond exact numbers', '{"executionTimeout":9007199254740993}'],
    ['ttl 9999', '{"ttl":9999}'],
    ['ttl 7 days and 1 ms', '{"ttl":604800001}'],
    ['ttl negative', '{"ttl":-10000}'],
    ['ttl a text', '{"ttl":"60000"}'],
    ['ttl a fraction', '{"ttl":60000.25}'],
    ['ttl huge', '{"ttl":1e300}'],
    ['lowPriority a text', '{"lowPriority":"true"}'],
    ['lowPriority a number', '{"lowPriority":1}'],
    ['lowPriority an object', '{"lowPriority":{}}'],
    ['policy twice, the last wrong', '{"ttl":60000},"policy":{"ttl":1}'],
  ],
  (policy) => ({ body: `{"input":{},"policy":${policy}}`, ...invalid('invalid_policy') }),
);

/** `webhook` that cannot be called. */
const WEBHOOKS = named<string>(
  [
    ['webhook a number', '5'],
    ['webhook an object', '{"url":"http://example.com"}'],
    ['webhook an array', '["http://example.com"]'],
    ['webhook no URL', '"example"'],
    ['webhook relative', '"/hook"'],
    ['webhook ftp', '"ftp://example.com/"'],
    ['webhook javascript', '"javascript:alert(1)"'],
    ['webhook without a host', '"http://"'],
    ['webhook with NUL', '"http://example.com/\\u0000"'],
    ['webhook with a line end', '"http://example.com/\\r\\nx: y"'],
    ['webhook of 2,049 characters', `"http://example.com/${'x'.repeat(2_049 - 19)}"`],
    ['webhook with a port beyond all ports', '"http://example.com:99999/"'],
  ],
  (webhook) => ({ body: `{"input":{},"webhook":${webhook}}`, ...invalid('invalid_webhook') }),
);

/** `s3Config` of a wrong type. */
const S3_CONFIGS = named<string>(
  [
    ['s3Config a text', '"s3"'],
    ['s3Config an array', '[]'],
    ['s3Config accessId a number', '{"accessId":1}'],
    ['s3Config accessSecret an object', '{"accessSecret":{}}'],
    ['s3Config bucketName with NUL', '{"bucketName":"\\u0000"}'],
  ],
  (config) => ({ body: `{"input":{},"s3Config":${config}}`, ...invalid('invalid_request') }),
);

/** Query values. */
const QUERIES = [
  ...named<string>(
    [
      ['wait below 1000', '999'],
      ['wait above 300000', '300001'],
      ['wait a word', 'long'],
      ['wait empty', ''],
      ['wait a fraction', '1000.5'],
      ['wait with an exponent', '1e4'],
      ['wait hexadecimal', '0x3e8'],
      ['wait negative', '-1000'],
      ['wait with a blank', '%201000'],
      ['wait of 40 digits', '1'.repeat(40)],
      ['wait twice', '1000&wait=2000'],
      ['wait NUL', '%00'],
      ['wait in other digits', '%D9%A1%D9%A0%D9%A0%D9%A0'],
    ],
    (wait) => ({ path: `/v2/{endpoint}/runsync?wait=${wait}`, body: '{"input":{}}', ...invalid('invalid_request') }),
  ),
  ...named<string>(
    [
      ['status ttl 0', 'status/{job}?ttl=0'],
      ['status ttl negative', 'status/{job}?ttl=-1'],
      ['status ttl a word', 'status/{job}?ttl=soon'],
      ['status ttl a fraction', 'status/{job}?ttl=1.5'],
      ['status ttl above 7 days', 'status/{job}?ttl=604800001'],
      ['limit 0', 'requests?limit=0'],
      ['limit above 1000', 'requests?limit=1001'],
      ['limit a word', 'requests?limit=all'],
      ['offset negative', 'requests?offset=-1'],
      ['offset beyond 32 bits', 'requests?offset=4294967296'],
      ['unknown state', 'requests?status=RUNNING'],
      ['submitted from a word', 'requests?submittedFrom=yesterday'],
      ['submitted from without a zone', 'requests?submittedFrom=2026-01-31T12:00:00'],
      ['submitted until a date', 'requests?submittedUntil=2026-01-31'],
      ['submitted from twice', 'requests?submittedFrom=2026-01-31T12:00:00Z&submittedFrom='],
      ['submitted from a span of no unit', 'requests?submittedFrom=now-1w'],
      ['submitted from what will be', 'requests?submittedFrom=now%2B1h'],
      ['submitted until long ago', 'requests?submittedUntil=now-999999999d'],
      ['submitted from before 1970', 'requests?submittedFrom=1969-12-31T23:59:59Z'],
      [
        'submitted until the moment from which',
        'requests?submittedFrom=2026-01-31T12:00:00Z&submittedUntil=2026-01-31T13:00:00%2B01:00',
      ],
      ['unknown stream format', 'stream/{job}?format=xml'],
      ['stream wait a word', 'stream/{job}?wait=long'],
      ['status-sync wait a word', 'status-sync/{job}?wait=long'],
    ],
    (path) => ({ method: 'GET', path: `/v2/{endpoint}/${path}`, ...invalid('invalid_request') }),
  ),
  ...named<string>(
    [
      ['cancel what has ended', 'cancel?status=COMPLETED'],
      ['retry what was cancelled', 'retry?status=CANCELLED'],
      ['cancel an unknown state', 'cancel?status=RUNNING'],
      ['cancel no jobs at a time', 'cancel?limit=0'],
      ['retry 1,001 jobs at a time', 'retry?limit=1001'],
      ['cancel by a cursor of nobody', 'cancel?cursor=MTIz'],
      ['retry by a cursor twice', 'retry?cursor=a&cursor=b'],
      ['cancel from a word', 'cancel?submittedFrom=yesterday'],
      ['retry from after until', 'retry?submittedFrom=now-1h&submittedUntil=now-2h'],
      ['cancel what was before 1970', 'cancel?submittedUntil=1969-12-31T23:59:59Z'],
    ],
    (path) => ({ method: 'POST', path: `/v2/{endpoint}/jobs/${path}`, body: '', ...invalid('invalid_request') }),
  ),
];

/** Things that do not exist, or not for this caller. */
const IDS = [
  ...named<[string, string]>(
    [
      ['unknown job', ['GET', `status/${UNKNOWN}`]],
      ['unknown job, cancel', ['POST', `cancel/${UNKNOWN}`]],
      ['unknown job, retry', ['POST', `retry/${UNKNOWN}`]],
      ['unknown job, stream', ['GET', `stream/${UNKNOWN}?wait=0`]],
      ['unknown job, status-sync', ['GET', `status-sync/${UNKNOWN}?wait=0`]],
      ['job of another account', ['GET', 'status/{otherJob}']],
      ['job of another account, cancel', ['POST', 'cancel/{otherJob}']],
      ['job id that is no id', ['GET', 'status/x']],
      ['job id in capitals', ['GET', `status/${UNKNOWN.toUpperCase()}`]],
      ['job id with NUL', ['GET', 'status/%00']],
      ['job id with a slash', ['GET', 'status/a%2fb']],
      ['job id with quotes', ['GET', "status/'%20OR%20'1'='1"]],
      ['job id with a line end', ['GET', 'status/a%0d%0ab']],
      ['job id of 900 characters', ['POST', `cancel/${'a'.repeat(900)}`]],
    ],
    ([method, path]) => ({ method, path: `/v2/{endpoint}/${path}`, status: 404, code: 'job_not_found' }),
  ),
  ...named<[string, string]>(
    [
      ['own job at another endpoint', ['GET', '/v2/{secondEndpoint}/status/{job}']],
      ['own job at another endpoint, cancel', ['POST', '/v2/{secondEndpoint}/cancel/{job}']],
    ],
    ([method, path]) => ({ method, path, status: 404, code: 'job_not_found' }),
  ),
  ...named<[string, string]>(
    [
      ['unknown endpoint', ['POST', '/v2/aaaaaaaaaaaaaa/run']],
      ['unknown endpoint, health', ['GET', '/v2/aaaaaaaaaaaaaa/health']],
      ['endpoint of another account', ['POST', '/v2/{otherEndpoint}/run']],
      ['endpoint of another account, status of its job', ['GET', '/v2/{otherEndpoint}/status/{otherJob}']],
      ['endpoint of another account, purge', ['POST', '/v2/{otherEndpoint}/purge-queue']],
      ['endpoint of another account, health', ['GET', '/v2/{otherEndpoint}/health']],
      ['endpoint of another account, cancel many', ['POST', '/v2/{otherEndpoint}/jobs/cancel']],
      ['endpoint id with NUL', ['POST', '/v2/%00/run']],
      ['endpoint id with a slash', ['POST', '/v2/a%2fb/run']],
      ['endpoint id of 900 characters', ['POST', `/v2/${'e'.repeat(900)}/run`]],
    ],
    ([method, path]) => ({
      method,
      path,
      body: method === 'POST' ? '{"input":{}}' : '',
      status: 404,
      code: 'endpoint_not_found',
    }),
  ),
];

/** Paths and methods that no operation has. */
const ROUTES = [
  ...named<[string, string]>(
    [
      ['unknown operation', ['POST', '/v2/{endpoint}/launch']],
      ['no operation', ['POST', '/v2/{endpoint}']],
      ['operation in capitals', ['POST', '/v2/{endpoint}/RUN']],
      ['no job id', ['GET', '/v2/{endpoint}/status']],
      ['more after the job id', ['GET', '/v2/{endpoint}/status/{job}/output']],
      // Paths of a load-balancing endpoint's workers, had it some.
      ['dots in the path', ['GET', '/v2/{endpoint}/status/../status/{job}']],
      ['escaped dots in the path', ['GET', '/v2/{endpoint}/x/%2e%2E/health']],
      ['dots to another surface', ['GET', '/v2/{endpoint}/../../v1/endpoints']],
      ['job id of 5,000 characters', ['GET', `/v2/{endpoint}/status/${'a'.repeat(5_000)}`]],
      ['other version', ['POST', '/v3/{endpoint}/run']],
    ],
    ([method, path]) => ({ method, path, status: 404, code: 'not_found' }),
  ),
  ...named<[string, string]>(
    [
      ['GET /run', ['GET', RUN]],
      ['PUT /run', ['PUT', RUN]],
      ['DELETE /status', ['DELETE', '/v2/{endpoint}/status/{job}']],
      ['PATCH /status', ['PATCH', '/v2/{endpoint}/status/{job}']],
      ['GET /cancel', ['GET', '/v2/{endpoint}/cancel/{job}']],
      ['GET /retry', ['GET', '/v2/{endpoint}/retry/{job}']],
      ['GET /purge-queue', ['GET', '/v2/{endpoint}/purge-queue']],
      ['GET /jobs/cancel', ['GET', '/v2/{endpoint}/jobs/cancel']],
      ['POST /health', ['POST', '/v2/{endpoint}/health']],
      ['POST /requests', ['POST', '/v2/{endpoint}/requests']],
      ['POST /', ['POST', '/']],
    ],
    ([method, path]) => ({ method, path, status: 405, code: 'method_not_allowed' }),
  ),
  ...named<[string, string]>(
    [
      ['job id of dots', ['GET', '/v2/{endpoint}/status/..']],
      ['job id of escaped dots', ['GET', '/v2/{endpoint}/status/%2e%2E']],
      ['a dot at the end', ['GET', '/v2/{endpoint}/status/.']],
      ['endpoint id of dots', ['POST', '/v2/../run']],
      ['dots at the start', ['GET', '/../v2/{endpoint}/health']],
      ['dots in a path of REST', ['GET', '/v1/pods/../endpoints']],
      ['dots in a path of nobody', ['GET', '/v3/./{endpoint}']],
    ],
    ([method, path]) => ({ method, path, status: 400, code: 'path_not_normalized' }),
  ),
  {
    name: 'header of 20,000 characters',
    headers: { 'x-note': 'a'.repeat(20_000) },
    body: '{"input":{}}',
    status: 431,
    code: 'headers_too_large',
  },
  {
    name: 'path of 20,000 characters',
    method: 'GET',
    path: `/v2/{endpoint}/status/${'a/'.repeat(10_000)}`,
    status: 431,
    code: 'headers_too_large',
  },
  ...named<string>(
    [
      ['broken percent sign', '/v2/{endpoint}/status/%zz'],
      ['cut percent sign', '/v2/{endpoint}/status/a%'],
      ['percent signs that are no UTF-8', '/v2/{endpoint}/status/%ff%fe'],
      ['blank in the path', '/v2/{endpoint}/status/a b'],
    ],
    (path) => ({ method: 'GET', path, ...invalid('invalid_request') }),
  ),
];

/** Headers. */
const HEADERS = [
  ...named<string>(
    [
      ['no key', ''],
      ['wrong key', 'Bearer wrong'],
      ['prefix alone', 'Bearer'],
      ['other scheme', 'Basic dTpw'],
      ['two words', 'Bearer a b'],
      ['key with letters beyond ASCII', 'Bearer sch\u00fc\u00dfel'],
      ['key of 8,000 characters', `Bearer ${'k'.repeat(8_000)}`],
    ],
    (authorization) => ({ headers: { authorization }, body: '{"input":{}}', status: 401, code: 'unauthorized' }),
  ),
  ...named<Record<string, string>>(
    [
      ['Idempotency-Key of 256 characters', { 'idempotency-key': 'k'.repeat(256) }],
      ['Idempotency-Key empty', { 'idempotency-key': '' }],
      ['NUL in a header', { 'x-note': 'a\0b' }],
      ['content-length negative', { 'content-length': '-1' }],
      ['content-length a word', { 'content-length': 'many' }],
      ['content-length beyond 64 bits', { 'content-length': '99999999999999999999' }],
      ['content-length and transfer-encoding', { 'transfer-encoding': 'chunked' }],
      ['unknown transfer-encoding', { 'transfer-encoding': 'rot13' }],
    ],
    (headers) => ({ headers, body: '{"input":{}}', ...invalid('invalid_request') }),
  ),
  {
    name: 'Last-Event-ID of another feed',
    method: 'GET',
    path: '/v2/{endpoint}/stream/{job}',
    ...invalid('invalid_request'),
    headers: { accept: 'text/event-stream', 'last-event-id': 'x-1' },
  },
];

const padded = (size: number) => () => Buffer.from('{"input":{"pad":""}}'.replace('""', `"${'x'.repeat(size - 20)}"`));

/** Bodies over the limit, sent whole. */
const SIZES = named<[string, number]>(
  [
    ['/run of 10 MiB and a byte', ['/run', 10 * MIB + 1]],
    ['/run of 12 MiB', ['/run', 12 * MIB]],
    ['/runsync of 20 MiB and a byte', ['/runsync', 20 * MIB + 1]],
    ['/cancel with a body of 1 MiB', ['/cancel/{job}', MIB]],
    ['/openai of 21 MiB', ['/openai/v1/completions', 21 * MIB]],
  ],
  ([path, size]) => ({ path: `/v2/{endpoint}${path}`, body: padded(size), ...invalid('payload_too_large') }),
);

/** All of them. */
export const CORPUS: BadRequest[] = [
  ...GRAMMAR,
  ...CONTENT_TYPES,
  ...INPUTS,
  ...POLICIES,
  ...WEBHOOKS,
  ...S3_CONFIGS,
  ...QUERIES,
  ...IDS,
  ...ROUTES,
  ...HEADERS,
  ...SIZES,
];
