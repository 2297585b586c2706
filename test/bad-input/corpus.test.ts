// test: postgres, 10 s
/** Runs the corpus: each wrong request gets its status and code, nothing is stored, and the server goes on working. */

import { ERROR_HELP } from '@slipway/kit/net/error-help';
import { ERRORS_PATH, ERRORS_PATH_OF_ANY_HOST } from '@slipway/kit/net/help-link';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import t from 'tap';
import { jobRows } from '../helpers/db/job-rows.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import type { RawAnswer } from '../helpers/net/raw-http.ts';
import { exchange, requestText, sendAndLeave } from '../helpers/net/raw-http.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import type { BadRequest } from './bad-request.ts';
import { OTHERWISE } from './bad-request.ts';
import { CORPUS } from './corpus.ts';
import { LEGAL } from './legal.ts';

const BODY_IDLE_MS = 400;
const BODY_TOTAL_MS = 1_500;
const CASES_MIN = 60;

const system = await startSystem(t, {
  facadeEnv: {
    SLIPWAY_RATE_LIMITS: 'false',
    SLIPWAY_BODY_IDLE_MS: String(BODY_IDLE_MS),
    SLIPWAY_BODY_TOTAL_MS: String(BODY_TOTAL_MS),
  },
});
const rows = jobRows(t, system.database.url);
const command = jsHandler('all.js');
const asleep = { command, fields: { workersMin: 0 }, workersMax: 0 };
const jobs = endpointJobs(system, await system.createEndpoint({ command }));
const parked = endpointJobs(system, await system.createEndpoint(asleep));
const second = await system.createEndpoint(asleep);
const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
const otherKey = await system.newKey(KeyScope.ALL, accountId);
const other = endpointJobs(system, await system.createEndpoint({ ...asleep, key: otherKey }));
const authorization = `Bearer ${system.key}`;
const names: Record<string, string> = {
  endpoint: parked.id,
  job: await parked.run({}),
  secondEndpoint: second,
  otherEndpoint: other.id,
  otherJob: await other.run({}, {}, { authorization: `Bearer ${otherKey}` }),
};

function fill(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name]!);
}

function bytesOf(body: BadRequest['body']): Uint8Array {
  if (typeof body === 'function') return body();
  return typeof body === 'string' ? Buffer.from(body) : (body ?? new Uint8Array());
}

function send(request: Omit<BadRequest, 'name' | 'status' | 'code'>): Promise<RawAnswer> {
  const { method = 'POST', path = '/v2/{endpoint}/run', headers = {}, body } = request;
  const bytes = bytesOf(body);
  const given = { authorization, ...(bytes.length > 0 ? { 'content-type': 'application/json' } : {}), ...headers };
  if (given.authorization === '') delete (given as Record<string, string>).authorization;
  return exchange(system.url, { pieces: [requestText(method, fill(path), given, bytes)] });
}

/** Returns the code of a body of any of the surfaces. */
function codeOf({ json }: RawAnswer): unknown {
  const error = json?.error;
  return json?.code ?? (typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined);
}

/** Returns the code that the Link header leads to. `undefined` if it leads to no entry of the page of codes. */
function linkedCode({ headers }: RawAnswer): string | undefined {
  const [, path = '', code = ''] = /^<([^#]+)#([^>]+)>; rel="help"$/.exec(headers.get('link') ?? '') ?? [];
  const isServed = [ERRORS_PATH, ERRORS_PATH_OF_ANY_HOST].includes(path);
  return isServed && Object.values(ERROR_HELP).some((codes) => code in codes) ? code : undefined;
}

/** Runs `act` and checks that it left no job behind. */
async function storesNothing(t: Test, act: () => Promise<unknown>): Promise<void> {
  const before = new Set(await rows.ids());
  await act();
  const after = await rows.ids();
  t.same(
    after.filter((id) => !before.has(id)),
    [],
    'nothing was stored',
  );
}

async function serverWorks(t: Test): Promise<void> {
  const answer = await jobs.call('POST', '/runsync', { input: { mode: 'value', value: 'alive' } });
  t.match(answer.json, { status: 'COMPLETED', output: 'alive' }, 'the server completes a job');
  t.match((await parked.status(names.job!)).json, { status: 'IN_QUEUE' }, 'the job that was there is as it was');
}

t.test('wrong requests', async (t) => {
  t.ok(CORPUS.length >= CASES_MIN, `${CORPUS.length} cases`);
  t.equal(new Set(CORPUS.map(({ name }) => name)).size, CORPUS.length, 'every case has a name of its own');
  for (const bad of CORPUS) {
    await t.test(bad.name, (t) =>
      storesNothing(t, async () => {
        const answer = await send(bad);
        const { status, code } = OTHERWISE.get(bad.name) ?? bad;
        t.equal(answer.status, status, answer.text.slice(0, 200));
        t.equal(codeOf(answer), code, answer.text.slice(0, 200));
        t.equal(linkedCode(answer), code, 'the answer links to its code');
        t.notMatch(answer.text, /\bat \/|node_modules|postgres|select |insert /i, 'says nothing about the inside');
      }),
    );
  }
  await serverWorks(t);
});

t.test('strange but legal requests', async (t) => {
  for (const { name, input, body, headers } of LEGAL) {
    await t.test(name, async (t) => {
      const answer = await send(headers ? { body, headers } : { body });
      t.equal(answer.status, 200, answer.text.slice(0, 200));
      const [row] = await rows.sql<
        { input: Buffer }[]
      >`SELECT input FROM job_input WHERE job_id = ${String(answer.json?.id)}`;
      t.ok(row!.input.equals(Buffer.from(input)), 'the input is kept byte for byte');
    });
  }
  await serverWorks(t);
});

const head = (path: string, lines: string[]): string =>
  `POST ${fill(path)} HTTP/1.1\r\n` +
  'host: slipway\r\n' +
  `authorization: ${authorization}\r\n` +
  'content-type: application/json\r\n' +
  `${lines.join('\r\n')}\r\n` +
  '\r\n';

/** Bytes on the wire that need their own timing: name, what is sent, what is answered. */
const WIRE: [
  name: string,
  request: { pieces: (string | Uint8Array)[]; pauseMs?: number },
  status: number,
  code: string | undefined,
][] = [
  [
    'content-length over the limit, no body yet',
    { pieces: [head('/v2/{endpoint}/run', ['content-length: 10485761'])] },
    400,
    'payload_too_large',
  ],
  [
    'content-length of a petabyte',
    { pieces: [head('/v2/{endpoint}/runsync', ['content-length: 1000000000000000'])] },
    400,
    'payload_too_large',
  ],
  [
    'over the limit and asking to go on',
    {
      pieces: [head('/v2/{endpoint}/run', ['content-length: 10485761', 'expect: 100-continue'])],
    },
    400,
    'payload_too_large',
  ],
  [
    'wrong key and a large body',
    {
      pieces: [
        head('/v2/{endpoint}/run', ['content-length: 10000000', 'expect: 100-continue']).replace(system.key, 'wrong'),
      ],
    },
    401,
    'unauthorized',
  ],
  [
    'over the limit without content-length',
    {
      pieces: [head('/v2/{endpoint}/run', ['transfer-encoding: chunked']), ...chunks(11, 1024 * 1024)],
    },
    400,
    'payload_too_large',
  ],
  [
    'wrong chunk size',
    { pieces: [head('/v2/{endpoint}/run', ['transfer-encoding: chunked']), 'zz\r\n{}\r\n'] },
    400,
    'invalid_request',
  ],
  [
    'a body that stops coming',
    { pieces: [head('/v2/{endpoint}/run', ['content-length: 12']), '{"input"'] },
    400,
    'invalid_request',
  ],
  [
    'a chunked body that stops coming',
    { pieces: [head('/v2/{endpoint}/run', ['transfer-encoding: chunked']), '5\r\n{"inp'] },
    400,
    'invalid_request',
  ],
  [
    'a body that comes byte by byte for too long',
    {
      pieces: [head('/v2/{endpoint}/run', ['content-length: 100']), ...'x'.repeat(100).split('')],
      pauseMs: 50,
    },
    400,
    'invalid_request',
  ],
  ...['gzip, chunked', 'chunked, chunked', 'identity'].map((coding): (typeof WIRE)[number] => [
    `transfer coding ${coding}`,
    { pieces: [head('/v2/{endpoint}/run', [`transfer-encoding: ${coding}`]), 'c\r\n{"input":{}}\r\n0\r\n\r\n'] },
    400,
    'invalid_request',
  ]),
  ['no HTTP', { pieces: ['hello\r\n\r\n'] }, 400, 'invalid_request'],
  ['TLS on a plain port', { pieces: [Buffer.from('16030100a5010000a10303', 'hex')] }, 400, 'invalid_request'],
  ['unknown method', { pieces: ['BREW /v2/x/run HTTP/1.1\r\nhost: slipway\r\n\r\n'] }, 400, 'invalid_request'],
  ['no host', { pieces: ['GET /v2/x/health HTTP/1.1\r\n\r\n'] }, 400, 'invalid_request'],
  [
    'two lengths',
    { pieces: [head('/v2/{endpoint}/run', ['content-length: 12', 'content-length: 13']), '{"input":{}}'] },
    400,
    'invalid_request',
  ],
  ['blank before the colon', { pieces: ['GET / HTTP/1.1\r\nhost : slipway\r\n\r\n'] }, 400, 'invalid_request'],
  [
    '10,000 headers',
    { pieces: [`GET / HTTP/1.1\r\nhost: slipway\r\n${'a: b\r\n'.repeat(10_000)}\r\n`] },
    431,
    'headers_too_large',
  ],
  ['unknown HTTP version', { pieces: ['GET / HTTP/9.9\r\nhost: slipway\r\n\r\n'] }, 400, 'invalid_request'],
];

function chunks(count: number, size: number): string[] {
  const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
  return Array.from({ length: count }, () => chunk);
}

t.test('wrong bytes on the wire', async (t) => {
  for (const [name, request, ...given] of WIRE) {
    await t.test(name, (t) =>
      storesNothing(t, async () => {
        const { status, code } = OTHERWISE.get(name) ?? { status: given[0], code: given[1] };
        const answer = await exchange(system.url, request);
        t.equal(answer.status, status, answer.text.slice(0, 200));
        t.equal(codeOf(answer), code, answer.text.slice(0, 200));
        t.equal(linkedCode(answer), code, 'the answer links to its code');
      }),
    );
  }
  await serverWorks(t);
});

t.test('clients that go away in the middle', async (t) => {
  await storesNothing(t, async () => {
    const cut: (string | Uint8Array)[][] = [
      ['POST /v2'],
      [head('/v2/{endpoint}/run', ['content-length: 12'])],
      [head('/v2/{endpoint}/run', ['content-length: 12']), '{"inp'],
      [head('/v2/{endpoint}/run', ['transfer-encoding: chunked']), ...chunks(3, 1024 * 1024)],
    ];
    for (const pieces of cut) await sendAndLeave(system.url, { pieces });
  });
  await serverWorks(t);
});

t.test('a body that comes slowly but in time is taken', async (t) => {
  const body = '{"input":{"slow":true}}';
  const answer = await exchange(system.url, {
    pieces: [
      head('/v2/{endpoint}/run', [`content-length: ${body.length}`, 'connection: close']),
      body.slice(0, 9),
      body.slice(9, 15),
      body.slice(15),
    ],
    pauseMs: BODY_IDLE_MS / 4,
  });
  t.equal(answer.status, 200);
});

t.test('an absolute address may name the default port, and a host in capitals', async (t) => {
  const body = '{"input":{}}';
  const sent = head('/v2/{endpoint}/run', [`content-length: ${body.length}`, 'connection: close']);
  const answer = await exchange(system.url, { pieces: [sent.replace(' /', ' HTTP://Slipway:80/'), body] });
  t.equal(answer.status, 200, answer.text);
});

t.test('many at once change nothing for the others', async (t) => {
  await storesNothing(t, async () => {
    const small = CORPUS.filter(({ body }) => typeof body !== 'function');
    const answers = await Promise.all(small.map(send));
    t.same(
      answers.map(({ status }) => status),
      small.map(({ name, status }) => OTHERWISE.get(name)?.status ?? status),
    );
  });
  await serverWorks(t);
});
