// test: postgres, 50 s
/**
 * Connections of load-balancing endpoints without a proxy in front: WebSockets, trailers, clients that leave, workers
 * that die or close them.
 */
import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { delay, systemClock } from '@slipway/kit/time/clock';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import postgres from 'postgres';
import t from 'tap';
import { echoWebSocket } from '../../helpers/net/echo-websocket.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
/** Pause of a client between two requests, in milliseconds: without it, it keeps both processors busy. */
const PAUSE_MS = 10;
const system = await startSystem(t, {
  facadeEnv: { SLIPWAY_LB_HOLD_MS: '20000', SLIPWAY_LB_PROCESSING_MS: '3000', SLIPWAY_LB_SOCKET_IDLE_MS: '2500' },
});
const { url, key } = system;
const { at, shown } = lbClient(system);
const balanced = (fields: Partial<Endpoint> = {}): Promise<string> => lbEndpoint(system, fields);
const AUTH = { authorization: `Bearer ${key}` };

const endpointId = await balanced({ workersMin: 2, workersMax: 2 });

t.test('WebSocket: echo, the key in the query, the idle limit', async (t) => {
  const talk = echoWebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat`, key);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat?api_key=${key}`);
  const heard: string[] = [];
  socket.addEventListener('message', ({ data }) => heard.push(String(data)));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  for (const text of ['one', 'two']) {
    socket.send(text);
    await waitFor(text, () => heard.includes(text));
  }
  await new Promise((resolve) => {
    socket.addEventListener('close', resolve);
  });
  t.same(heard, ['one', 'two'], 'closed after it was silent for the limit');
  await waitFor('the other to be older than an answer may be', () => talk.ageMs > 4_500 || !talk.isOpen);
  t.ok(talk.isOpen, `one that talks lives on (${talk.words} words)`);
  talk.stop();
  const refused = new WebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat`);
  await new Promise((resolve) => {
    refused.addEventListener('error', resolve);
  });
  t.equal(refused.readyState, WebSocket.CLOSED, 'no key, no connection');
});

t.test('a large answer to a WebSocket upgrade arrives whole', async (t) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let bytes = 0;
  let isOver = false;
  socket
    .on('data', (piece: Buffer) => {
      bytes += piece.length;
    })
    .on('error', () => undefined)
    .once('close', () => {
      isOver = true;
    });
  socket.write(
    `GET /v2/${endpointId}/download?bytes=4000000 HTTP/1.1\r\n` +
      'host: x\r\n' +
      `authorization: Bearer ${key}\r\n` +
      'connection: Upgrade\r\n' +
      'upgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\n' +
      `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
      '\r\n',
  );
  await waitFor('its end', () => isOver);
  t.ok(bytes > 4_000_000, `${bytes} bytes`);
});

t.test('a draining worker keeps its WebSockets until they close', async (t) => {
  const going = await balanced({ workersMin: 1, workersMax: 1 });
  const talk = echoWebSocket(`${url.replace('http', 'ws')}/v2/${going}/chat`, key);
  await waitFor('words', () => talk.words > 0 || !talk.isOpen);
  const sql = postgres(system.database.url, { max: 1 });
  t.teardown(() => sql.end());
  await system.endWorkers(going);
  await waitFor(
    'the drain',
    async () => (await sql`SELECT FROM worker WHERE endpoint_id = ${going} AND state = 'DRAINING'`).length === 1,
  );
  const { words } = talk;
  // Longer than a worker without requests gets.
  await waitFor('more words', () => talk.words > words + 60 || !talk.isOpen);
  t.ok(talk.isOpen, `${talk.words} words`);
  talk.stop();
  await waitFor(
    'its end',
    async () => (await sql`SELECT FROM worker WHERE endpoint_id = ${going} AND ended_at IS NULL`).length === 0,
  );
});

t.test('trailers both ways', async (t) => {
  const answer = await new Promise<{ body: string; trailers: NodeJS.Dict<string> }>((resolve, reject) => {
    const headers = { ...AUTH, trailer: 'x-up', te: 'trailers', 'transfer-encoding': 'chunked' };
    const asked = httpRequest(`${url}/v2/${endpointId}/trailers`, { method: 'POST', headers });
    asked.on('error', reject).on('response', (response) => {
      let body = '';
      response
        .on('data', (piece: Buffer) => {
          body += piece.toString();
        })
        .on('end', () => resolve({ body, trailers: response.trailers }));
    });
    asked.write('body');
    asked.addTrailers({ 'x-up': 'mine' });
    asked.end();
  });
  t.same(answer, { body: '{"x-up":"mine"}', trailers: { 'x-sum': 'all' } });
});

t.test('the worker sees a client disconnect, and its slot is free', async (t) => {
  const alone = await balanced({ workersMax: 1, workerConcurrency: 1, workersMin: 1 });
  await (await at(alone, '/x')).text();
  const inFlight = async (queued: number, running = 1): Promise<boolean> => {
    const { jobs } = (await (await at(alone, '/health')).json()) as { jobs: Record<string, number> };
    return jobs['inProgress'] === running && jobs['inQueue'] === queued;
  };
  // The counts are a moment old: the first request must not be taken for the one that hangs.
  await waitFor('nothing in flight', () => inFlight(0, 0));
  const leaving = new AbortController();
  const hanging = at(alone, '/hang', { signal: leaving.signal });
  hanging.catch(() => undefined);
  await waitFor('one in flight', () => inFlight(0));
  const waiting = new AbortController();
  const behind = at(alone, '/behind', { signal: waiting.signal });
  let early = '';
  behind.then(
    async (answer) => {
      early = `${answer.status} ${await answer.text()}`;
    },
    () => undefined,
  );
  await waitFor('one that waits', () => inFlight(1)).catch((error: Error) => {
    throw new Error(`${error.message}; the one behind was answered: ${early}`);
  });
  waiting.abort();
  leaving.abort();
  const { hangs, left } = await waitFor('the worker to see it', async () => {
    const counted = await shown(at(alone, '/count'));
    return counted.left > 0 && counted;
  });
  t.match({ hangs, left: left > 0 }, { hangs: 1, left: true });

  const { hostname, port } = new URL(url);
  const half = connect(Number(port), hostname);
  let answer = '';
  const closed = new Promise((resolve) => {
    half.once('close', resolve);
  });
  half
    .on('error', () => undefined)
    .on('data', (piece: Buffer) => {
      answer += piece.toString();
    });
  half.write(`GET /v2/${alone}/hang HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`);
  await waitFor('it to be there', () => inFlight(0));
  half.end();
  t.match(await shown(at(alone, '/count')), { hangs: 2 }, 'its place is free');
  await closed;
  t.equal(answer, '', 'one that says that it sends no more has left too');
});

t.test('a worker that dies: its requests get 502, the next goes to another', async (t) => {
  const dying = await balanced({ workersMin: 1, workersMax: 1 });
  const { worker } = await shown(at(dying, '/x'));
  const response = await at(dying, '/die', { method: 'POST', body: 'x' });
  t.equal(response.status, 502);
  t.match(await response.json(), { code: 'worker_failed' });
  const next = await shown(at(dying, '/x'));
  t.not(next.worker, worker, 'held until another is ready');
  await t.rejects(
    at(dying, '/half').then((half) => half.text()),
    'an answer that is not whole shows as one',
  );
});

t.test('a worker that closes idle connections loses no request', async (t) => {
  for (let count = 0; count < 60; count += 1) {
    const response = await at(endpointId, '/x', { method: 'POST', body: 'x' });
    if (response.status !== 200) t.equal(response.status, 200);
    await response.text();
    // About as long as it keeps an idle connection.
    await (await at(endpointId, `/slow?ms=${16 + (count % 6)}`)).text();
  }
  t.pass('none');
});

t.test('without core, ready workers serve and unknown keys get 503', async (t) => {
  await (await at(endpointId, '/x')).text();
  await system.cores[0]!.stop();
  const until = performance.now() + 7_000;
  let count = 0;
  while (performance.now() < until || count <= 20) {
    const response = await at(endpointId, '/x', { method: 'GET' });
    await response.text();
    if (response.status !== 200) t.equal(response.status, 200, `after ${count}`);
    count += 1;
    await delay(systemClock, PAUSE_MS);
  }
  const unknown = await fetch(`${url}/v2/${endpointId}/x`, { headers: { authorization: 'Bearer rpa_other' } });
  t.equal(unknown.status, 503);
});
