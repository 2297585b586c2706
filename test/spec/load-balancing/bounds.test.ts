// test: postgres, python, 50 s
/**
 * Limits of requests to load-balancing endpoints: how many wait and for how long, workers that reject requests or are
 * full, and slow clients.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { echoWebSocket } from '../../helpers/net/echo-websocket.ts';
import { exchange } from '../../helpers/net/raw-http.ts';
import { openUnread, TALK_BYTES, UNREAD_SOCKETS } from '../../helpers/net/unread-websocket.ts';
import { pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { checkContinue, lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
const HOLD_MS = 6_000;
/** More than the three seconds in which a worker that is to go waits for requests that were on their way. */
const DRAIN_MS = 4_500;
const system = await startSystem(t, {
  facadeEnv: { SLIPWAY_LB_HOLD_MS: String(HOLD_MS), SLIPWAY_LB_PROCESSING_MS: '4000' },
  agentEnv: { SLIPWAY_HTTP_DRAIN_MS: String(DRAIN_MS) },
  waits: { endpointMax: 5, accountMax: 8, allMax: 10, strictMs: 500 },
});
const { url, key } = system;
const { at, shown } = lbClient(system);

/** More requests than may wait. */
const ASKED = 12;

/** Requests that wait until they are let go. */
function waiting(client: ReturnType<typeof lbClient>, endpointId: string, count: number) {
  const leave = new AbortController();
  const all = Array.from({ length: count }, () => client.at(endpointId, '/x', { signal: leave.signal }));
  for (const each of all) each.catch(() => undefined);
  return { all, leave: () => leave.abort() };
}

/** Ids of an endpoint's two workers, once both are ready. */
async function bothWorkers(endpointId: string): Promise<[string, string]> {
  await waitFor('both', async () => {
    const { workers } = (await (await at(endpointId, '/health')).json()) as { workers: Record<string, number> };
    return workers['ready'] === 2;
  });
  return (await call(system.clients.machines, 'listWorkers', { endpointId }, key)).workers.map(({ id }) => id) as [
    string,
    string,
  ];
}

/** `undefined` if it still waits after this time, in milliseconds. */
const orWaits = <Value>(answer: Promise<Value>, ms: number): Promise<Value | undefined> =>
  Promise.race([answer, delay(systemClock, ms).then(() => undefined)]);

t.test('waiting requests are limited per endpoint, per account and in total', async (t) => {
  const [a, b] = [await lbEndpoint(system, { workersMax: 0 }), await lbEndpoint(system, { workersMax: 0 })];
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const otherKey = await system.newKey(KeyScope.ALL, accountId);
  const other = lbClient({ url, key: otherKey });
  const c = await lbEndpoint(system, { workersMax: 0 }, { key: otherKey });
  /** Sends more requests than may wait. Checks how many wait, and the responses of the others. */
  const fill = async (client: typeof other, endpointId: string, most: number, [status, whose]: [number, RegExp]) => {
    const { all, leave } = waiting(client, endpointId, ASKED);
    const rejected: Response[] = [];
    for (const answer of all)
      void answer.then(
        (response) => rejected.push(response),
        () => undefined,
      );
    await waitFor('the rejections', () => rejected.length >= ASKED - most);
    t.equal(rejected.length, ASKED - most);
    for (const response of rejected) {
      t.equal(response.status, status);
      t.match(await response.json(), { code: 'queue_full', error: whose });
      t.equal(response.headers.get('retry-after'), '1');
    }
    return { leave };
  };
  const ofEndpoint = await fill({ at, shown }, a, 5, [429, /of this endpoint/]);
  const ofAccount = await fill({ at, shown }, b, 3, [429, /of this account/]);
  const ofAll = await fill(other, c, 2, [503, /of this service/]);
  ofEndpoint.leave();
  const room = await waitFor('room', async () => {
    const one = waiting(other, c, 1);
    const outcome = await orWaits(one.all[0]!, 100);
    return outcome === undefined && one;
  });
  for (const each of [room, ofAccount, ofAll]) each.leave();
});

t.test('a burst above the limit: the allowed ones wait and are served, the others are rejected', async (t) => {
  const one = await lbEndpoint(system, { workersMin: 1, workersMax: 1, workerConcurrency: 1 });
  await shown(at(one, '/x'));
  const holder = new AbortController();
  at(one, '/hang', { signal: holder.signal }).catch(() => undefined);
  await waitFor('it to hold the place', async () => {
    const { jobs } = (await (await at(one, '/health')).json()) as { jobs: Record<string, number> };
    return jobs['inProgress'] === 1;
  });
  const refused: unknown[] = [];
  const ask = async (endpointId: string): Promise<number> => {
    const response = await at(endpointId, '/x', { method: 'POST', body: 'x' });
    if (response.status === 429)
      refused.push({ ...((await response.json()) as object), retry: response.headers.get('retry-after') });
    return response.status;
  };
  const all = Array.from({ length: 60 }, () => ask(one));
  await waitFor('the refusals', () => refused.length >= 55);
  holder.abort();
  const statuses = await Promise.all(all);
  t.equal(statuses.filter((status) => status === 200).length, 5);
  t.equal(statuses.filter((status) => status === 429).length, 55);
  const error = 'Too many requests of this endpoint wait for a worker; try again shortly.';
  t.same(
    refused,
    refused.map(() => ({ error, code: 'queue_full', retry: '1' })),
  );

  const both = [await lbEndpoint(system, { workersMax: 0 }), await lbEndpoint(system, { workersMax: 0 })];
  const held = both.map((endpointId) => waiting({ at, shown }, endpointId, 30));
  let told = 0;
  for (const { all: answers } of held)
    for (const answer of answers)
      answer.then(
        ({ status }) => {
          if (status === 429) told += 1;
        },
        () => undefined,
      );
  await waitFor('all beyond what an account may have', () => told === 60 - 8);
  for (const { leave } of held) leave();
});

t.test('a client that ignores rejections gets the next ones late', async (t) => {
  const empty = await lbEndpoint(system, { workersMax: 0 });
  const held = waiting({ at, shown }, empty, 5);
  await waitFor('all that may wait', async () => (await orWaits(at(empty, '/x'), 250))?.status === 429);
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: 60 }, () => at(empty, '/x')));
  t.ok(performance.now() - startedAt >= 995, 'not before a second');
  t.same(new Set(answers.map(({ status }) => status)), new Set([429]));
  held.leave();
});

t.test('the wait ends without a worker in time, also for a required worker', async (t) => {
  const empty = await lbEndpoint(system, { workersMax: 0 });
  const startedAt = performance.now();
  const response = await at(empty, '/x', { method: 'POST', body: 'unread' });
  t.ok(performance.now() - startedAt >= HOLD_MS - 5, 'not before its time');
  t.equal(response.status, 503);
  t.same(await response.json(), { error: 'no workers available', code: 'no_workers_available' });
  t.match(response.headers.get('retry-after'), /^\d+$/);

  const slow = await lbEndpoint(system, { workersMin: 1, env: { START_MS: '60000' } });
  const worker = await waitFor(
    'its worker',
    async () => (await call(system.clients.machines, 'listWorkers', { endpointId: slow }, key)).workers[0]?.id,
  );
  const late = await waitFor('the activator to know of it', async () => {
    const answer = await at(slow, '/x', { headers: { 'x-runpod-worker-id': `strict ${worker}` } });
    return answer.status === 400 && answer;
  });
  t.match(await late.json(), { code: 'worker_timeout', reason: 'worker_timeout' });
});

t.test('a draining worker cuts open WebSockets after the drain limit', async (t) => {
  const going = await lbEndpoint(system, { workersMin: 1, workersMax: 1 });
  const talk = echoWebSocket(`${url.replace('http', 'ws')}/v2/${going}/chat`, key);
  await waitFor('words', () => talk.words > 0 || !talk.isOpen);
  const since = performance.now();
  await system.endWorkers(going);
  await waitFor('the cut', () => !talk.isOpen, 30_000);
  t.ok(performance.now() - since >= DRAIN_MS, `not before: ${performance.now() - since} ms`);
  const workers = async () => (await call(system.clients.machines, 'listWorkers', { endpointId: going }, key)).workers;
  await waitFor('its end', async () => (await workers()).length === 0);
});

t.test('a request whose connection is refused goes to another worker, unread', async (t) => {
  const two = await lbEndpoint(system, { workersMin: 2, workersMax: 2 });
  const [deaf, hearing] = await bothWorkers(two);
  await shown(at(two, '/deaf', { headers: { 'x-runpod-worker-id': deaf } }));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      shown(at(two, `/y?n=${index}`, { method: 'POST', body: `body ${index}` })),
    ),
  );
  t.ok(
    answers.every(({ worker }) => worker === hearing),
    'all were answered by the other',
  );
  t.same(
    answers.map(({ bytes }) => bytes),
    answers.map((_, index) => `body ${index}`.length),
    'with their whole bodies',
  );
  const { seen } = await shown(at(two, '/seen'));
  t.equal(
    new Set(seen.filter((line) => line.startsWith('POST /y'))).size,
    seen.filter((line) => line.startsWith('POST /y')).length,
    'each once',
  );
});

t.test('a request whose body a worker has begun to read is never sent again', async (t) => {
  const two = await lbEndpoint(system, { workersMin: 2, workersMax: 2 });
  await bothWorkers(two);
  const response = await at(two, '/read-and-die', { method: 'POST', body: 'x' });
  t.equal(response.status, 502);
  t.match(await response.json(), { code: 'worker_failed', error: /not repeated/ });
  t.notOk((await shown(at(two, '/seen'))).seen.includes('POST /read-and-die'), 'the other never saw it');
});

t.test('a worker that answers 429', async (t) => {
  const two = await lbEndpoint(system, { workersMin: 2, workersMax: 2 });
  const [first] = await bothWorkers(two);
  for (const status of [503, 429]) {
    for (let count = 0; count < 4; count += 1)
      t.equal((await shown(at(two, `/full?but=${first}&status=${status}`))).worker, first, 'another takes it');
  }
  const body = random.bytes(100_000);
  const sha256 = createHash('sha256').update(body).digest('hex');
  for (let count = 0; count < 4; count += 1) {
    const given = await shown(at(two, `/full?but=${first}`, { method: 'POST', body }));
    t.match(given, { worker: first, sha256 }, 'and with it the whole body, of which the full one has read nothing');
  }
  const begun = await at(two, '/read-and-full', { method: 'POST', body });
  t.same([begun.status, await begun.text()], [503, 'full'], 'what has been read is not sent again: the client is told');
  t.notOk(begun.headers.has('x-slipway-full'));
  const status = (await at(two, '/full?status=500')).status;
  t.equal(status, 500, 'any other status is an answer');
  const never = await at(two, '/full');
  t.equal(never.status, 503, 'when all are full for the whole wait');
  t.match(await never.json(), { error: 'no workers available' });
});

t.test('Expect: 100-continue reaches the worker, which may answer before the body', async (t) => {
  const one = await lbEndpoint(system, { workersMin: 1, workersMax: 1 });
  const post = (path: string): Promise<Response> => at(one, path, { method: 'POST', body: 'x'.repeat(100_000) });
  t.match(await shown(post('/x')), { bytes: 100_000 });
  const refused = await post('/no');
  t.same([refused.status, await refused.text()], [403, 'no'], 'no, without having read any of it');
  const early = await post('/yes-first');
  t.same([early.status, await early.text()], [200, '100000'], 'an answer that begins before the body comes');
  const AUTH = `authorization: Bearer ${key}\r\n`;
  const hesitant = (path: string): Promise<{ status: number; text: string }> =>
    exchange(url, {
      pieces: [
        `POST /v2/${one}${path} HTTP/1.1\r\n` +
          'host: x\r\n' +
          `${AUTH}content-length: 1\r\n` +
          'expect: 100-continue\r\n' +
          'connection: close\r\n' +
          '\r\n',
      ],
    });
  await checkContinue(t, url, key, ['a client that waits for a word gets it, and sends', one]);
  t.match(await hesitant('/no'), { status: 403, text: 'no' }, 'a client that waits for a word gets the refusal');
  const before = performance.now();
  t.match(await shown(post('/unasked')), { bytes: 100_000 }, 'nothing: it gets it after a while');
  t.ok(performance.now() - before > 900);
  const { asked } = await shown(at(one, '/seen'));
  t.same(asked, ['/x', '/no', '/yes-first', '/up', '/no', '/unasked']);
  await shown(post('/unasked'));
  t.same((await shown(at(one, '/seen'))).asked, asked, 'and is not asked again');

  const other = await lbEndpoint(system, { workersMin: 1, workersMax: 1 });
  t.match(
    await shown(at(other, '/asked-in-vain', { method: 'POST', body: 'x' })),
    { bytes: 1 },
    'that it takes no questions: it gets it at once',
  );
  t.match(await shown(at(other, '/seen')), { asked: ['/asked-in-vain'], seen: ['POST /asked-in-vain', 'GET /seen'] });
});

for (const parser of ['h11', 'httptools']) {
  t.test(`a Python worker that answers 503: uvicorn with ${parser}`, { skip: skipWithoutPython('new') }, async (t) => {
    const two = await lbEndpoint(
      system,
      { workersMin: 2, workersMax: 2, env: { UVICORN_HTTP: parser } },
      { command: pythonHandler('new', 'asgi.py') },
    );
    const [first] = await bothWorkers(two);
    const body = random.bytes(100_000);
    for (let count = 0; count < 4; count += 1) {
      t.match(await shown(at(two, `/full?but=${first}`, { method: 'POST', body })), {
        worker: first,
        bytes: body.length,
      });
    }
    t.match(await shown(at(two, '/x', { method: 'POST', body })), { bytes: body.length });
  });
}

t.test('slow clients', async (t) => {
  const one = await lbEndpoint(system, { workersMin: 1, workersMax: 1, workerConcurrency: 2 });
  await shown(at(one, '/x'));
  const BYTES = 28 * 1024 * 1024;
  const slow = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(`${url}/v2/${one}/flow?bytes=${BYTES}`, { headers: { authorization: `Bearer ${key}` } }, resolve)
      .on('error', reject)
      .end();
  });
  slow.pause();
  let last = -1;
  const flowed = await waitFor('the worker to be held up', async () => {
    const now = (await shown(at(one, '/count'))).flowed;
    const stands = now === last && now > 0;
    last = now;
    return stands && now;
  });
  t.ok(flowed < BYTES / 2, `a reader that takes nothing holds its worker up (${flowed} bytes)`);
  let bytes = 0;
  for await (const piece of slow as AsyncIterable<Buffer>) bytes += piece.length;
  t.equal(bytes, Math.ceil(BYTES / 65_536) * 65_536, 'and gets all of it later');

  const stalled = httpRequest(`${url}/v2/${one}/up`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-length': 1_000 },
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    stalled.on('response', resolve).on('error', reject);
  });
  for (const piece of 'slowly') {
    stalled.write(piece);
    t.equal((await shown(at(one, '/x'))).method, 'GET', 'others are served meanwhile');
  }
  const { statusCode } = await answer;
  t.equal(statusCode, 504, 'one that never ends is cut at its time');
  stalled.destroy();
  const both = await Promise.all([shown(at(one, '/slow?ms=50')), shown(at(one, '/slow?ms=50'))]);
  t.equal(both.length, 2, 'both places are free again');
});

t.test('WebSockets that read nothing delay their worker only and fill no memory', async (t) => {
  const one = await lbEndpoint(system, { workersMin: 1, workersMax: 1 });
  await shown(at(one, '/x'));
  const { hostname, port } = new URL(url);
  const before = memoryMib(process.pid).now;
  const deaf = await Promise.all(
    Array.from({ length: UNREAD_SOCKETS }, () =>
      openUnread(connect(Number(port), hostname), `/v2/${one}/talk?bytes=${TALK_BYTES}`, key),
    ),
  );
  const flowed: number[] = [];
  await waitFor('nothing more to flow', async () => {
    flowed.push((await shown(at(one, '/count'))).flowedInAll);
    return flowed.length > 20 && flowed.at(-20) === flowed.at(-1);
  });
  const grown = memoryMib(process.pid).now - before;
  t.ok(flowed.at(-1)! < (UNREAD_SOCKETS * TALK_BYTES) / 2, `${flowed.at(-1)} bytes`);
  t.ok(grown < 64, `${Math.round(grown)} MiB more`);
  t.match(await shown(at(one, '/up', { method: 'PUT', body: 'beside' })), { bytes: 6 }, 'a normal client');
  for (const socket of deaf) socket.destroy();
});
