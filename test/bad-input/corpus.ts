/**
 * Wrong requests and what each must be answered with. Every case is POST /v2/{endpoint}/run with the account's key
 * unless it says otherwise. In paths `{endpoint}` and `{job}` are the account's own endpoint and a queued job of it,
 * `{otherEndpoint}` and `{otherJob}` those of another account, `{secondEndpoint}` a second endpoint of the own account.
 */
import type { BadRequest } from './bad-request.ts';
import { invalid, MIB, named, RUN } from './bad-request.ts';
import { BODY_CORPUS } from './body-corpus.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000-u1';

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
export const CORPUS: BadRequest[] = [...BODY_CORPUS, ...QUERIES, ...IDS, ...ROUTES, ...HEADERS, ...SIZES];
