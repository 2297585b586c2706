// test: postgres, 30 s
/** Load-balancing endpoints without a proxy in front: real core, facade and agent, real HTTP workers. */
import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { ERRORS_PATH_OF_ANY_HOST } from '@slipway/kit/net/help-link';
import { Endpoint, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import postgres from 'postgres';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { checkPreflight } from '../../helpers/calls/preflight.ts';
import { checkRevoked } from '../../helpers/calls/revoked-key.ts';
import { checkConsoleCookie } from '../../helpers/console/console-cookie.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { checkAnswers } from '../../helpers/net/path-form.ts';
import { exchange } from '../../helpers/net/raw-http.ts';
import { checkUnusualAnswers, checkUnusualRequests } from '../../helpers/net/unusual-requests.ts';
import { checkHostKeys } from '../../helpers/system/host-keys.ts';
import type { ShownRequest } from '../../helpers/system/lb-endpoint.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
const system = await startSystem(t, {
  facadeEnv: { SLIPWAY_LB_HOLD_MS: '90000', SLIPWAY_LB_PROCESSING_MS: '15000' },
});
const { url, key } = system;
const { at, shown } = lbClient(system);
const balanced = (fields: Partial<Endpoint> = {}): Promise<string> => lbEndpoint(system, fields);
const AUTH = { authorization: `Bearer ${key}` };
const headersOf = ({ headers }: ShownRequest): Record<string, string> =>
  Object.fromEntries(
    headers.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), headers[index + 1]!]] : [])),
  );

const endpointId = await balanced({ workersMin: 2, workersMax: 2 });
const otherId = await balanced();

await t.test('scale from zero: 200 first requests, none lost, one scaling decision', async (t) => {
  const cold = await balanced({ workersMax: 1, env: { START_MS: '300' } });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => shown(at(cold, `/any?n=${index}`, { method: 'POST', body: `${index}` }))),
  );
  t.equal(new Set(answers.map((answer) => answer.worker)).size, 1, 'one worker');
  t.same(
    answers.map((answer) => answer.url),
    answers.map((_, index) => `/any?n=${index}`),
  );
  const sql = postgres(system.database.url, { max: 1 });
  const rows = await sql`SELECT FROM worker WHERE endpoint_id = ${cold}`;
  await sql.end();
  t.equal(rows.length, 1, 'one worker was ever asked for');
});

t.test('method, path, query, body and headers arrive; the key and spoofed headers do not', async (t) => {
  const body = random.bytes(100_000);
  const given = await shown(
    at(endpointId, '/a//b%20c/?x=1&api_key=zzz&y=%41', {
      method: 'PUT',
      body,
      headers: {
        'x-mine': 'yes',
        'x-slipway-upstream': 'evil',
        'x-envoy-original-path': 'evil',
        'x-forwarded-for': '9.9.9.9',
        'x-runpod-worker-id': 'nobody',
      },
    }),
  );
  t.match(given, {
    method: 'PUT',
    url: '/a//b%20c/?x=1&y=%41',
    bytes: 100_000,
    sha256: createHash('sha256').update(body).digest('hex'),
  });
  const headers = headersOf(given);
  t.match(headers, {
    'x-mine': 'yes',
    host: new URL(url).host,
    'x-forwarded-host': new URL(url).host,
    'x-forwarded-prefix': `/v2/${endpointId}`,
  });
  t.match(headers['x-forwarded-for'], /^9\.9\.9\.9, (::ffff:)?127\.0\.0\.1$/);
  for (const name of ['authorization', 'x-slipway-upstream', 'x-envoy-original-path', 'x-runpod-worker-id'])
    t.notOk(name in headers, name);
  t.match(
    await shown(fetch(`${url}/v2/${endpointId}/k?a=1&a%70i_key=${key}&b=2`)),
    { url: '/k?a=1&b=2' },
    'the key in the query, however it is spelled',
  );
  for (const method of ['GET', 'DELETE', 'OPTIONS', 'PATCH'])
    t.match(await shown(at(endpointId, '/m', { method })), { method, url: '/m' });
  t.match(await shown(fetch(`${url}/v2/${endpointId}?api_key=${key}`)), { url: '/' });
  const policyOf = async (answer: Promise<Response>): Promise<string | null> =>
    (await answer).headers.get('content-security-policy');
  t.match(
    await policyOf(fetch(`${url}/v2/${endpointId}/page?api_key=${key}`)),
    /^sandbox /,
    'what a browser opens by path has no part in our origin',
  );
  t.equal(await policyOf(at(endpointId, '/page')), null, 'what programs ask for is as the worker sent it');
});

t.test('unusual but legal HTTP passes unchanged both ways', async (t) => {
  const asked = { url, base: `/v2/${endpointId}`, key };
  await checkUnusualRequests(t, asked);
  await checkUnusualAnswers(t, asked);
  const foreign = [
    `GET http://elsewhere.example/v2/${endpointId}/health HTTP/1.1\r\n` +
      'host: localhost\r\n' +
      'authorization: Bearer ' +
      `${key}\r\n\r\n`,
  ];
  t.match(await exchange(url, { pieces: foreign }), { status: 400, json: { code: 'invalid_request' } }, 'two hosts');
  const old = [`GET /v2/${endpointId}/old HTTP/1.0\r\nauthorization: Bearer ${key}\r\n\r\n`];
  t.match(await exchange(url, { pieces: old }), { status: 200, json: { url: '/old' } }, 'no host, as HTTP/1.0 allows');
  const host = {
    pieces: [
      `GET /v1/endpoints/${'x'.repeat(1_100)}/%ff HTTP/1.1\r\n` +
        `host: ${endpointId}.localhost\r\n` +
        'authorization: Bearer ' +
        `${key}\r\n\r\n`,
    ],
  };
  t.match(
    await exchange(url, host),
    { status: 200, json: { url: /^\/v1\/endpoints\/x+\/%ff$/ } },
    'by host, where other surfaces would say no',
  );
});

t.test('the console cookie reaches no worker, and no worker sets it', (t) =>
  checkConsoleCookie(t, async (path, cookie) => {
    const response = await at(endpointId, path, { headers: { cookie } });
    return { headers: ((await response.json()) as ShownRequest).headers, setCookie: response.headers.getSetCookie() };
  }),
);

t.test('a revoked key ends its open connections and its waiting requests', (t) =>
  checkRevoked(t, system, url, endpointId),
);

t.test('headers of answers, by path and by host', async (t) => {
  const { host } = new URL(url);
  await checkAnswers(t, { url, base: `/v2/${endpointId}`, host, key });
  await checkAnswers(t, { url, base: '', host: `${endpointId}.localhost`, key });
});

t.test("a browser signs in to an endpoint's host", (t) =>
  checkHostKeys(t, { url, host: `${endpointId}.localhost`, system, other: `${otherId}.localhost` }),
);

t.test('a client that sends everything before it reads still gets the error', async (t) => {
  const { hostname, port } = new URL(url);
  for (const [path, secret, status] of [
    [endpointId, key, 413],
    [endpointId, 'rpa_unknown', 401],
    ['nosuchendpoint', key, 404],
  ] as const) {
    const socket = connect(Number(port), hostname);
    t.teardown(() => socket.destroy());
    let told = '';
    socket
      .on('data', (piece: Buffer) => {
        told += piece.toString('latin1');
      })
      .pause();
    const body = Buffer.alloc(31 * 1024 * 1024);
    socket.write(
      `POST /v2/${path}/up HTTP/1.1\r\n` +
        'host: a\r\n' +
        `authorization: Bearer ${secret}\r\n` +
        `content-length: ${body.length}\r\n` +
        '\r\n',
    );
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject).write(body, () => resolve());
    });
    socket.resume();
    await waitFor('the answer', () => told.startsWith(`HTTP/1.1 ${status} `));
    socket.write(`GET /v2/${endpointId}/next HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n\r\n`);
    await waitFor('the next one on the connection', () => told.includes('"url":"/next"'));
    t.pass(`${status}`);
  }
});

t.test('pages of other origins', (t) => checkPreflight(t, system, url, endpointId));

t.test('consecutive requests go to the workers in rotation', async (t) => {
  await waitFor('both workers', async () => {
    const { workers } = (await (await at(endpointId, '/health')).json()) as { workers: Record<string, number> };
    return workers['ready'] === 2;
  });
  const served: string[] = [];
  for (let count = 0; count < 6; count += 1) served.push((await shown(at(endpointId, '/x'))).worker);
  t.same(
    served.map((worker) => served.filter((other) => other === worker).length),
    [3, 3, 3, 3, 3, 3],
  );
});

t.test('the host form passes every path, queue paths included', async (t) => {
  const { port } = new URL(url);
  const answer = await new Promise<ShownRequest>((resolve, reject) => {
    const headers = { ...AUTH, host: `${endpointId}.localhost:${port}` };
    const asked = httpRequest({ host: '127.0.0.1', port, path: '/run/status/x?q=1', method: 'POST', headers });
    asked.on('error', reject).on('response', (response) => {
      const pieces: Buffer[] = [];
      response
        .on('data', (piece: Buffer) => pieces.push(piece))
        .on('end', () => resolve(JSON.parse(Buffer.concat(pieces).toString()) as ShownRequest));
    });
    asked.end('{}');
  });
  t.match(answer, { url: '/run/status/x?q=1', method: 'POST' });
});

t.test("/explain, /times, /errors and /jobs/… of it are its workers' own", async (t) => {
  const paths = ['/explain', '/explain/x?y=1', '/times', '/times?since=1h', '/errors', '/errors?since=1h', '/errors/x'];
  for (const path of paths) t.match(await shown(at(endpointId, path)), { method: 'GET', url: path });
  for (const path of ['/jobs/cancel', '/jobs/retry?status=x', '/jobs/new']) {
    t.match(await shown(at(endpointId, path, { method: 'POST', body: '{}' })), { method: 'POST', url: path });
  }
});

t.test('queue operations here, and worker paths on a queue-based endpoint, are rejected with the reason', async (t) => {
  for (const path of ['/run', '/runsync', '/purge-queue', '/status/x']) {
    const response = await at(endpointId, path, { method: 'POST', body: '{"input":{}}' });
    t.equal(response.status, 400, path);
    t.match(await response.json(), { error: /^not allowed for QB API/, code: 'wrong_endpoint_type' });
  }
  await waitFor('health', async () => {
    const { workers } = (await (await at(endpointId, '/health')).json()) as { workers: Record<string, number> };
    return workers['running'] === 2 && workers['ready'] === 2;
  });
  const response = await at(
    await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 } }),
    '/generate',
    { method: 'POST', body: '{}' },
  );
  t.equal(response.status, 404);
  t.match(await response.json(), { error: /queue-based endpoint/ });
});

t.test('a queue-based scaler is rejected on every surface, with the one to use', async (t) => {
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: key });
  const { templateId } = (await call(system.clients.endpoints, 'getEndpoint', { id: endpointId }, key)).endpoint!;
  const rest = async (method: string, path: string, fields: object): Promise<string> => {
    const { status, text } = await system.request(method, `/v1/endpoints${path}`, fields);
    return `${status} ${text}`;
  };
  for (const scaler of ['QUEUE_DELAY', 'SLO'] as const) {
    const says = (name: string, before = ''): RegExp =>
      new RegExp(`${before}[^]*${name} is ${scaler}, but a load-balancing[^]* name REQUEST_COUNT`);
    const made = { name: 'x', templateId, type: 'LB', computeType: 'CPU', scalerType: scaler };
    t.match(await rest('POST', '', made), says('scalerType', '400'), 'REST, a new one');
    t.match(await rest('PATCH', `/${endpointId}`, { scalerType: scaler }), says('scalerType', '400'), 'REST, a change');
    const query = (input: string): string =>
      `mutation { saveEndpoint(input: { ${input}, scalerType: "${scaler}" }) { id } }`;
    for (const input of [`name: "x", templateId: "${templateId}", gpuIds: "", type: "LB"`, `id: "${endpointId}"`]) {
      t.match(
        (await system.request('POST', '/graphql', { query: query(input) })).text,
        says('scalerType', 'errors'),
        `GraphQL, ${input}`,
      );
    }
    const change = {
      endpoint: Endpoint.fromPartial({ id: endpointId, scalerType: ScalerType[scaler] }),
      updateMask: ['scaler_type'],
    };
    await t.rejects(
      call(system.clients.endpoints, 'updateEndpoint', change, key),
      says('scaler_type'),
      'gRPC, a change',
    );
    await t.rejects(lbEndpoint(system, { scalerType: ScalerType[scaler] }), says('scaler_type'), 'gRPC, a new one');
    const option = scaler.toLowerCase().replace('_', '-');
    t.match(
      (await cli.run('endpoints', 'update', endpointId, '--scaler', option)).stderr,
      says('scaler_type'),
      'the command line',
    );
  }
  const { endpoint } = await call(system.clients.endpoints, 'getEndpoint', { id: endpointId }, key);
  t.equal(endpoint!.scalerType, ScalerType.REQUEST_COUNT, 'what it has when nobody chooses');
});

t.test('errors have the bodies of the public service', async (t) => {
  const none = await fetch(`${url}/v2/${endpointId}/x`);
  t.equal(none.status, 401);
  t.same(await none.json(), { status: 401, title: 'Unauthorized', detail: 'no token provided' });
  const bad = await fetch(`${url}/v2/${endpointId}/x`, { headers: { authorization: 'Bearer rpa_unknown' } });
  t.equal(bad.status, 401);
  t.same(await bad.json(), { status: 401, title: 'Unauthorized', detail: 'invalid api key' });
  t.equal((await at('nosuchendpoint', '/x')).status, 404);
  const slow = await at(endpointId, '/slow?ms=120000');
  t.equal(slow.status, 504);
  t.match(await slow.json(), { code: 'processing_timeout' });
  for (const [answer, code] of [
    [none, 'unauthorized'],
    [slow, 'processing_timeout'],
  ] as const)
    t.equal(answer.headers.get('link'), `<${ERRORS_PATH_OF_ANY_HOST}#${code}>; rel="help"`);
  const page = `GET ${ERRORS_PATH_OF_ANY_HOST} HTTP/1.1\r\nhost: ${endpointId}.localhost\r\n\r\n`;
  t.match(
    await exchange(url, { pieces: [page] }),
    { status: 200, text: /<h3 id="processing_timeout">/ },
    "the link leads to the list of codes by host too, where other paths are the worker's",
  );
});

t.test('20 MB pass each way; 30 MB are rejected each way', async (t) => {
  const body = Buffer.alloc(20 * 1024 * 1024, 'y');
  t.match(await shown(at(endpointId, '/up', { method: 'POST', body })), {
    bytes: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
  });
  t.equal(
    (await (await at(endpointId, `/download?bytes=${20 * 1024 * 1024}`)).arrayBuffer()).byteLength,
    20 * 1024 * 1024,
  );
  const down = await at(endpointId, `/download?bytes=${31 * 1024 * 1024}`);
  t.equal(down.status, 413);
  t.match(await down.json(), { code: 'payload_too_large' });
  const up = await new Promise<number>((resolve, reject) => {
    const asked = httpRequest(`${url}/v2/${endpointId}/up`, {
      method: 'POST',
      headers: { ...AUTH, 'content-length': 31 * 1024 * 1024 },
    });
    asked
      .on('response', (response) => {
        resolve(response.statusCode!);
        asked.destroy();
      })
      .on('error', reject)
      .flushHeaders();
  });
  t.equal(up, 413, 'refused before any byte of it');
});

t.test('events arrive as they are written, and each answer names its worker', async (t) => {
  const response = await at(endpointId, '/stream');
  t.match(response.headers.get('x-runpod-worker-id'), /^[a-z0-9]{14}$/);
  t.equal(await response.text(), 'data: 1\n\ndata: 2\n\ndata: 3\n\n');
  let text = '';
  for await (const piece of (await at(endpointId, '/endless')).body!) {
    text += Buffer.from(piece).toString();
    if (text.includes('tick 3\n')) break;
  }
  t.match(text, /^tick 1\ntick 2\ntick 3\n/, 'of an answer that never ends');
});

t.test('affinity: soft, strict, and to a worker that no longer exists', async (t) => {
  const { worker } = await shown(at(endpointId, '/x'));
  for (const value of [worker, `strict ${worker}`, `strict-resume ${worker}`]) {
    for (let count = 0; count < 4; count += 1) {
      t.equal((await shown(at(endpointId, '/x', { headers: { 'x-runpod-worker-id': value } }))).worker, worker, value);
    }
  }
  t.ok((await at(endpointId, '/x', { headers: { 'x-runpod-worker-id': 'goneworker0000' } })).ok, 'soft takes another');
  const gone = await at(endpointId, '/x', { headers: { 'x-runpod-worker-id': 'strict goneworker0000' } });
  t.equal(gone.status, 404);
  t.match(await gone.json(), { reason: 'affinity_worker_gone' });
});
