// test: postgres, 10 s
/**
 * Workers of a machine that cannot be dialled: every kind of request passes through the tunnel of its agent, and only a
 * cut of the tunnel fails the requests in it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { performServerHandshake } from 'node:http2';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import postgres from 'postgres';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { cuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import { exchange, requestText } from '../../helpers/net/raw-http.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
const system = await startSystem(t, {
  agents: 0,
  tunnelAuthorizeMs: 200,
  facadeEnv: { SLIPWAY_LB_HOLD_MS: '20000', SLIPWAY_LB_SOCKET_IDLE_MS: '1500' },
});
const { url, key } = system;
const { hostname, port } = new URL(url);
const proxy = await cuttingProxy(t, { host: hostname, port: Number(port) });
await system.startAgent(undefined, { SLIPWAY_TUNNEL_ADDRESS: `http://127.0.0.1:${proxy.port}` });
const { at, shown } = lbClient(system);
const id = await lbEndpoint(system);
const AUTH = { authorization: `Bearer ${key}` };

await t.test('scale from zero: a request with a body', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => shown(at(id, `/any?n=${n}`, { method: 'POST', body: `${n}` }))),
  );
  t.same(
    answers.map((answer) => answer.url),
    answers.map((_, n) => `/any?n=${n}`),
  );
});

await t.test('no client is redirected to another address', async (t) => {
  const sql = postgres(system.database.url, { max: 1 });
  t.same(await sql`SELECT address FROM worker WHERE endpoint_id = ${id}`, [{ address: 'tunnel' }]);
  await sql.end();
});

await t.test('30 MB each way, events and trailers', async (t) => {
  const body = random.bytes(LB_BODY_BYTES_MAX);
  t.match(await shown(at(id, '/up', { method: 'PUT', body })), {
    bytes: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
  });
  t.equal((await (await at(id, `/download?bytes=${LB_BODY_BYTES_MAX}`)).arrayBuffer()).byteLength, LB_BODY_BYTES_MAX);
  t.equal(await (await at(id, '/stream')).text(), 'data: 1\n\ndata: 2\n\ndata: 3\n\n');
  const answer = await new Promise<IncomingMessage & { text: string }>((resolve, reject) => {
    const headers = { ...AUTH, trailer: 'x-up', te: 'trailers', 'transfer-encoding': 'chunked' };
    const asked = httpRequest(`${url}/v2/${id}/trailers`, { method: 'POST', headers }, async (reply) => {
      resolve(
        Object.assign(reply, { text: Buffer.concat(await Array.fromAsync(reply as AsyncIterable<Buffer>)).toString() }),
      );
    });
    asked.once('error', reject).addTrailers({ 'x-up': 'mine' });
    asked.end('body');
  });
  t.same([answer.text, answer.trailers], ['{"x-up":"mine"}', { 'x-sum': 'all' }]);
});

await t.test('a WebSocket passes, and ends after its idle limit', async (t) => {
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
  });
  socket.write(
    `GET /v2/${id}/chat HTTP/1.1\r\n` +
      'host: x\r\n' +
      `authorization: Bearer ${key}\r\n` +
      'connection: Upgrade\r\n' +
      'upgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\n' +
      `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
      '\r\n',
  );
  await waitFor('the upgrade', () => text.startsWith('HTTP/1.1 101') && text.includes('\r\n\r\n'));
  // A masked text frame of two letters, with the mask 0.
  socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
  await waitFor('the echo', () => text.endsWith('\x02hi'));
  await new Promise((resolve) => {
    socket.once('close', resolve);
  });
  t.pass('ended');
});

await t.test('the worker sees a client disconnect; a client that does not read delays its worker only', async (t) => {
  const leaving = new AbortController();
  const left = at(id, '/hang', { signal: leaving.signal }).catch(() => undefined);
  await waitFor('the request', async () => (await shown(at(id, '/count'))).hangs === 1);
  leaving.abort();
  await left;
  await waitFor('its end', async () => (await shown(at(id, '/count'))).left > 0);
  const bytes = 28 * 1024 * 1024;
  const slow = await at(id, `/flow?bytes=${bytes}`);
  const seen: number[] = [];
  await waitFor('no more to flow', async () => {
    seen.push((await shown(at(id, '/count'))).flowed);
    return seen.length > 20 && seen.at(-20) === seen.at(-1);
  });
  const flowed = seen.at(-1)!;
  t.ok(flowed < bytes, `${flowed} bytes of ${bytes}`);
  t.equal((await slow.arrayBuffer()).byteLength, bytes, 'all of it comes when it is read');
});

await t.test('a cut tunnel fails its own requests only', async (t) => {
  const inFlight = at(id, '/slow?ms=60000');
  await waitFor('it runs', async () => (await shown(at(id, '/seen'))).seen.some((line) => line.includes('/slow')));
  proxy.cut(0, 'RESET');
  const failed = await inFlight;
  t.equal(failed.status, 502);
  t.match(await failed.json(), { code: 'worker_failed' });
  t.match(await shown(at(id, '/after')), { url: '/after' }, 'what comes after waits for the next tunnel');
});

await t.test('only agents may open a tunnel', async (t) => {
  const ask = (secret?: string) =>
    exchange(url, {
      pieces: [
        requestText(
          'GET',
          '/edge/tunnel/0',
          {
            connection: 'Upgrade',
            upgrade: 'slipway-tunnel',
            'content-length': '0',
            ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          },
          Buffer.alloc(0),
        ),
      ],
    });
  t.match(await ask(), { status: 401, text: /key of an agent/ });
  t.match(await ask(key), { status: 401 }, 'not a user');
  t.match(await ask(system.rootKey), { status: 401 }, 'not the operator');
  t.match(await ask(system.agentKey), { status: 401, text: /open a Session first/ }, 'not a machine that nobody knows');
  t.equal(
    (await fetch(`${url}/edge/tunnel/0`, { headers: AUTH })).status,
    404,
    'without the upgrade there is no such path',
  );
});

await t.test('a machine with a revoked key loses its tunnel', async (t) => {
  const fields = { name: 'leaver', scope: KeyScope.AGENT, endpointIds: [], accountId: '', permissions: undefined };
  const { key: leaver, secret } = await call(system.clients.keys, 'createKey', fields, system.rootKey);
  await system.startAgent(undefined, { SLIPWAY_AGENT_KEY: secret });
  const socket = await waitFor('its tunnel, once core knows the machine', async () => {
    const headers = { authorization: `Bearer ${secret}`, connection: 'Upgrade', upgrade: 'slipway-tunnel' };
    const asked = httpRequest(`${url}/edge/tunnel/0`, { headers, agent: false }).end();
    const taken = ([, made, head]: unknown[]): Socket => {
      if ((head as Buffer).length > 0) (made as Socket).unshift(head as Buffer);
      return made as Socket;
    };
    return Promise.race([once(asked, 'upgrade').then(taken), once(asked, 'response').then(() => undefined)]);
  });
  const session = performServerHandshake(socket);
  session.on('error', () => undefined);
  await new Promise((resolve) => {
    session.ping(resolve);
  });
  t.notOk(session.destroyed);
  await call(system.clients.keys, 'revokeKey', { id: leaver!.id }, system.rootKey);
  await waitFor('its end', () => session.destroyed);
  t.equal((await at(id, '/x')).status, 200, 'and nobody else');
});
