// test: alone, postgres, 20 s
/**
 * Requirements of HTTP itself: lengths, methods, hosts, expectations and compressed bodies, each rejected with a JSON
 * body of its surface; and the front page.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import t from 'tap';
import type { RawAnswer } from '../../helpers/net/raw-http.ts';
import { exchange, requestText } from '../../helpers/net/raw-http.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const MIB = 1024 * 1024;
/** Unpacked size of one decompression bomb. */
const BOMB_MIB = 100;
t.setTimeout(600_000);

const system = await startSystem(t, { agents: 0 });
const jobs = endpointJobs(
  system,
  await system.createEndpoint({ command: ['true'], ready: 0, fields: { workersMin: 0 } }),
);
const run = `${jobs.base}/run`;
const KEY = { authorization: `Bearer ${system.key}` };
const send = (...pieces: (string | Uint8Array)[]): Promise<RawAnswer> => exchange(system.url, { pieces });
const post = (path: string, headers: Record<string, string>, body: string | Uint8Array): Promise<RawAnswer> =>
  send(requestText('POST', path, { ...KEY, ...headers }, Buffer.from(body)));

t.test('headers and URIs that are too long: 431', async (t) => {
  const long = 'x'.repeat(20_000);
  const answers = [
    await send(`GET ${run} HTTP/1.1\r\nhost: x\r\nlong: ${long}\r\n\r\n`),
    await send(`GET /${long} HTTP/1.1\r\nhost: x\r\n\r\n`),
    await send(`GET ${run}?a=${long} HTTP/1.1\r\nhost: x\r\n\r\n`),
    await send(`GET ${run} HTTP/1.1\r\n${'a: b\r\n'.repeat(4_000)}\r\n`),
  ];
  for (const answer of answers)
    t.match(answer, { status: 431, json: { code: 'headers_too_large', error: /16384 bytes/ } });
  const rest = await send(`GET /v1/pods HTTP/1.1\r\nhost: x\r\nlong: ${long}\r\n\r\n`);
  t.match(rest.json, { code: 'headers_too_large', status: 431, message: String, error: String });
});

t.test('another method on a known path: 405 with Allow', async (t) => {
  const cases = [
    ['GET', run, 'POST'],
    ['PUT', '/graphql', 'POST'],
    ['PUT', '/v1/endpoints', 'GET, POST'],
    ['POST', '/v1/openapi.json', 'GET, HEAD'],
    ['DELETE', `${jobs.base}//status/x/`, 'GET, HEAD, POST'],
    ['OPTIONS', `${jobs.base}/openai/v1/models`, undefined],
    ['POST', '/', 'GET, HEAD'],
    ['QUERY', run, 'POST'],
  ] as const;
  for (const [method, path, allow] of cases) {
    const answer = await send(requestText(method, path, KEY, Buffer.alloc(0)));
    t.equal(answer.status, 405, `${method} ${path}`);
    if (allow) t.equal(answer.headers.get('allow'), allow, path);
    else t.match(answer.headers.get('allow'), /POST/);
    t.match(JSON.stringify(answer.json), /method_not_allowed/);
  }
  t.match((await send(requestText('PUT', '/v1/endpoints', KEY, Buffer.alloc(0)))).json, {
    status: 405,
    message: String,
  });
  t.equal((await send(requestText('PUT', '/v1/nothing', KEY, Buffer.alloc(0)))).status, 404);
});

t.test('HEAD of what needs no key', async (t) => {
  for (const path of ['/', '/healthz', '/readyz', '/docs/errors', '/v1/openapi.json', '/v2/openapi.json']) {
    const [whole, head] = await Promise.all([fetch(system.url + path), fetch(system.url + path, { method: 'HEAD' })]);
    t.equal(head.status, 200, path);
    t.equal(head.headers.get('content-type'), whole.headers.get('content-type'));
    t.equal(Number(head.headers.get('content-length')), (await whole.arrayBuffer()).byteLength);
  }
});

t.test('one Host, and no expectation but 100-continue', async (t) => {
  t.match(await send(`GET ${run} HTTP/1.1\r\n\r\n`), {
    status: 400,
    json: { code: 'invalid_request', error: /no Host/ },
  });
  t.match(await send('GET /v1/pods HTTP/1.1\r\n\r\n'), {
    status: 400,
    json: { code: 'invalid_request', message: /no Host/, status: 400 },
  });
  t.match(await send(`POST ${run} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}`), {
    status: 400,
    json: { error: /no Host/ },
  });
  t.match(await send('GET /healthz HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n'), {
    status: 400,
    json: { error: /more than once/ },
  });
  t.match(await send('GET /healthz HTTP/1.0\r\n\r\n'), { status: 200 }, 'HTTP/1.0 knows no Host');
  const body = '{"input":{}}';
  t.match(await post(run, { expect: '200-ok' }, body), { status: 417, json: { code: 'expectation_failed' } });
  t.match(await post('/v1/templates', { expect: 'x' }, body), {
    status: 417,
    json: { code: 'expectation_failed', message: String, status: 417 },
  });
  t.match(await post(run, { expect: '100-continue' }, body), { status: 200, json: { status: 'IN_QUEUE' } });
});

t.test('what follows the last response of a connection is no request', async (t) => {
  const queue = endpointJobs(
    system,
    await system.createEndpoint({ command: ['true'], ready: 0, fields: { workersMin: 0 } }),
  );
  // The key is known from here on.
  const first = await queue.run({});
  // Half open, so that it may still send when the service has ended its side.
  const client = connect({ port: Number(new URL(system.url).port), host: '127.0.0.1', allowHalfOpen: true });
  client.write(`POST ${run} HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: 4\r\n\r\nx`);
  const [answer] = (await once(client, 'data')) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1\.1 400 [^]*connection: close/i);
  const input = Buffer.from('{"input": {}}');
  const next = requestText('POST', `${queue.base}/run`, { ...KEY, connection: 'keep-alive' }, input);
  client.on('error', () => undefined).end(Buffer.concat([Buffer.from('xxx'), next]));
  await once(client.resume(), 'close');
  const id = await queue.run({});
  const { json } = await queue.call('GET', '/requests');
  t.match(json, { total: 2, requests: [{ id }, { id: first }] }, 'only the jobs that were answered');
});

t.test('gzip bodies are accepted; other encodings are 415', async (t) => {
  const body = JSON.stringify({ input: { text: 'ä'.repeat(100_000) } });
  const taken = await post(run, { 'content-encoding': 'gzip' }, gzipSync(body));
  t.match(taken, { status: 200, json: { status: 'IN_QUEUE' } });
  const parts = Buffer.concat([gzipSync(body.slice(0, 50_000)), gzipSync(body.slice(50_000))]);
  t.match(await post(run, { 'content-encoding': 'X-GZIP' }, parts), { status: 200 }, 'in several members');
  t.match(await post('/graphql', { 'content-encoding': 'gzip' }, gzipSync('{"query":"{ myself { id } }"}')), {
    status: 200,
    json: { data: { myself: {} } },
  });
  t.match(
    await post('/v1/templates', { 'content-encoding': 'gzip' }, gzipSync('{}')),
    { status: 400, json: { status: 400 } },
    'read, and found wrong',
  );
  t.match(await post(run, { 'content-encoding': 'identity' }, '{"input":{}}'), { status: 200 });
  for (const [encoding, bytes] of [
    ['br', brotliCompressSync(body)],
    ['deflate', deflateSync(body)],
    ['gzip, gzip', gzipSync(gzipSync(body))],
  ] as const) {
    const answer = await post(run, { 'content-encoding': encoding }, bytes);
    t.match(answer, { status: 415, json: { code: 'unsupported_encoding', error: /gzip/ } }, encoding);
    t.equal(answer.headers.get('accept-encoding'), 'gzip, identity');
  }
  const packed = gzipSync(body);
  for (const bytes of [
    Buffer.from(body),
    packed.subarray(0, packed.length - 10),
    Buffer.alloc(0, 1),
    Buffer.concat([packed.subarray(0, 100), packed]),
  ]) {
    if (bytes.length > 0)
      t.match(await post(run, { 'content-encoding': 'gzip' }, bytes), {
        status: 400,
        json: { code: 'invalid_request', error: /gzip/ },
      });
  }
});

t.test('a decompression bomb costs no more than the body limit', async (t) => {
  const bomb = gzipSync(Buffer.alloc(BOMB_MIB * MIB, 0x20));
  const before = process.memoryUsage().rss;
  const answers = await Promise.all(Array.from({ length: 10 }, () => post(run, { 'content-encoding': 'gzip' }, bomb)));
  for (const answer of answers) t.match(answer, { status: 400, json: { code: 'payload_too_large' } });
  const grownMib = (process.memoryUsage().rss - before) / MIB;
  t.ok(grownMib < 300, `ten of them, ${10 * BOMB_MIB} MiB unpacked, took ${Math.round(grownMib)} MiB`);
  const nothing = Buffer.concat(Array<Buffer>(100_000).fill(gzipSync('')));
  t.match(await post(run, { 'content-encoding': 'gzip' }, nothing), { status: 400 }, 'many members that hold nothing');
  t.match(await post(run, {}, '{"input":{}}'), { status: 200 }, 'the service goes on');
});

t.test('curl: a compressed body, and a large one with Expect: 100-continue', async (t) => {
  const curl = (body: Buffer, ...args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = execFile(
        'curl',
        ['-s', '-H', `authorization: ${KEY.authorization}`, '--data-binary', '@-', ...args, system.url + run],
        (error, output) => (error ? reject(error) : resolve(output)),
      );
      child.stdin!.end(body);
    });
  const body = JSON.stringify({ input: { text: 'x'.repeat(2 * MIB) } });
  t.match(JSON.parse(await curl(gzipSync(body), '-H', 'content-encoding: gzip')), { status: 'IN_QUEUE' });
  t.match(JSON.parse(await curl(Buffer.from(body), '-H', 'expect: 100-continue')), { status: 'IN_QUEUE' });
  t.match(JSON.parse(await curl(gzipSync(body), '-H', 'expect: 100-continue', '-H', 'content-encoding: gzip')), {
    status: 'IN_QUEUE',
  });
});

t.test("each error has the id of its request, the client's own when it is one", async (t) => {
  const ids = async (given?: string): Promise<(string | null)[]> =>
    Promise.all(
      ['/v2/none/run', '/v1/endpoints/none', '/no/such/path'].map(async (path) => {
        const answer = await fetch(`${system.url}${path}`, {
          headers: { ...KEY, ...(given !== undefined && { 'x-request-id': given }) },
        });
        t.ok(answer.status >= 400);
        return answer.headers.get('x-request-id');
      }),
    );
  const made = [...(await ids()), ...(await ids('not an id')), ...(await ids('x'.repeat(129)))];
  t.ok(
    made.every((id) => /^[a-z0-9]{10}-\d+$/.test(id ?? '')),
    made.join(),
  );
  t.equal(new Set(made).size, 9, 'none twice');
  t.same(await ids('client:42.a_b-c'), Array(3).fill('client:42.a_b-c'));
});

t.test('a REST v2 path with dot segments is rejected as a problem', async (t) => {
  const { status, json, headers } = await exchange(system.url, {
    pieces: [requestText('GET', '/v2/pods/%2e%2e/logs', {}, Buffer.alloc(0))],
  });
  t.match({ status, json }, { status: 400, json: { title: 'Bad Request', code: 'path_not_normalized' } });
  t.equal(headers.get('content-type'), 'application/problem+json; charset=utf-8');
});

t.test('the root answers HTML to browsers and JSON to programs; liveness and readiness', async (t) => {
  const page = await fetch(system.url, { headers: { accept: 'text/html,*/*' } });
  const html = await page.text();
  t.match(page.headers.get('content-type'), /^text\/html/);
  t.match(page.headers.get('content-security-policy'), /^default-src 'none'/);
  t.notMatch(html, /https?:|<script/, 'nothing from other hosts');
  for (const [, path] of html.matchAll(/href="([^"]+)"/g))
    t.equal((await fetch(system.url + path!)).status, 200, path!);
  t.match(await (await fetch(system.url)).json(), { service: 'slipway', paths: { '/v1/docs': String } });
  t.match(await (await fetch(`${system.url}/healthz`)).json(), { status: 'ok' });
  t.equal((await fetch(`${system.url}/readyz`)).status, 200);
  await system.cores[0]!.stop();
  const answer = await waitFor('the service to be known as not ready', async () => {
    const answer = await fetch(`${system.url}/readyz`);
    return answer.status === 503 && answer.json();
  });
  t.match(answer, { code: 'unavailable', error: /Core/ });
  t.equal((await fetch(`${system.url}/healthz`)).status, 200, 'the process lives');
});
