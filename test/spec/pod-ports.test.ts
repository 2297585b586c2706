// test: postgres, 10 s
/**
 * HTTP ports of pods: by path with a key, by host for everybody where the operator allows it; dialled and through a
 * tunnel.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { echoWebSocket } from '../helpers/net/echo-websocket.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { checkUnusualAnswers, checkUnusualRequests } from '../helpers/net/unusual-requests.ts';
import { podCalls } from '../helpers/pods/pod-calls.ts';
import { LB_WORKER } from '../helpers/system/lb-endpoint.ts';
import { startSystem } from '../helpers/system/system.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
const system = await startSystem(t, { agents: 0, facadeEnv: { SLIPWAY_POD_DOMAINS: 'pods.localhost' } });
const { url, key } = system;
const pods = podCalls(system.clients, key);

interface Sent {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: Buffer;
}
interface Got {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  json: Record<string, unknown>;
}
const send = (path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Got> =>
  new Promise((resolve, reject) => {
    httpRequest(url + path, { method, headers }, async (answer) => {
      const text = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString();
      resolve({
        status: answer.statusCode!,
        headers: answer.headers,
        text,
        json: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
      });
    })
      .once('error', reject)
      .end(body);
  });
const bearer = (secret: string): OutgoingHttpHeaders => ({ authorization: `Bearer ${secret}` });

/** Starts a pod that runs the worker that answers anything. */
async function startPod(): Promise<{ id: string; port: number }> {
  const port = await quietPort();
  const env = { PORT: String(port), HEALTH_CHECK_PATH: '/ping' };
  const fields = { name: 'web', startCommand: LB_WORKER, ports: [`${port}/http`, '22/tcp'], env, computeType: 'CPU' };
  const { id } = await waitFor('a machine', () => pods.create(fields));
  await pods.reach(id, 'RUNNING');
  return { id, port };
}

async function serves(t: Test, { id, port }: { id: string; port: number }): Promise<void> {
  const path = `/pods/${id}/${port}`;
  await waitFor('an answer', async () => (await send(`${path}/x`, { headers: bearer(key) })).status === 200);
  const body = random.bytes(3_000_000);
  const given = await send(`${path}/a//b%20c?x=1`, { method: 'PUT', body, headers: { ...bearer(key), cookie: 'a=b' } });
  t.match(given.json, { method: 'PUT', url: '/a//b%20c?x=1', sha256: createHash('sha256').update(body).digest('hex') });
  const seen = (given.json['headers'] as string[]).join('\n');
  t.match(seen, new RegExp(`X-Forwarded-Prefix\n${path}`));
  t.notOk(seen.includes(key), 'the key stays here');
  t.notOk('x-runpod-worker-id' in given.headers);
  t.match((await send(path, { headers: bearer(key) })).json, { url: '/' });
  t.match((await send(`${path}?a=b`, { headers: bearer(key) })).json, { url: '/?a=b' });
  t.equal((await send(`${path}/stream`, { headers: bearer(key) })).text, 'data: 1\n\ndata: 2\n\ndata: 3\n\n');

  await checkUnusualRequests(t, { url, base: path, key });
  await checkUnusualAnswers(t, { url, base: path, key });

  const host = `${id}-${port}.pods.localhost`;
  const open = await send('/v2/abc/run?api_key=its-own', { headers: { host, ...bearer("the pod's own") } });
  t.match(open.json, { url: '/v2/abc/run?api_key=its-own' }, "every path is the pod's, without a key of ours");
  t.match(
    (open.json['headers'] as string[]).join('\n'),
    /authorization\nBearer the pod's own/,
    'what it is told is its own',
  );
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
  });
  socket.write(
    'GET /chat HTTP/1.1\r\n' +
      `host: ${host}\r\n` +
      'connection: Upgrade\r\n' +
      'upgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\n' +
      `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
      '\r\n',
  );
  await waitFor('the upgrade', () => text.startsWith('HTTP/1.1 101') && text.includes('\r\n\r\n'));
  socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
  await waitFor('the echo', () => text.endsWith('\x02hi'));
  socket.destroy();
}

await t.test('ports of a pod on a machine that can be reached', async (t) => {
  const agent = await system.startAgent();
  const pod = await startPod();
  await serves(t, pod);
  const path = `/pods/${pod.id}/${pod.port}/x`;

  await t.test('only keys that may use the pod reach its ports', async (t) => {
    t.match(await send(path), { status: 401, json: { code: 'unauthorized' } });
    t.match(await send(path, { headers: bearer('rpa_unknown') }), { status: 401 });
    const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
    const stranger = await system.newKey(KeyScope.ALL, accountId);
    t.match(await send(path, { headers: bearer(stranger) }), { status: 404 }, 'another account');
    const reader = await system.newKey(KeyScope.READ_ONLY);
    t.equal((await send(path, { headers: bearer(reader) })).status, 200, 'a reader reads');
    t.equal((await send(path, { method: 'POST', headers: bearer(reader) })).status, 401, 'and changes nothing');
    const endpoint = await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 } });
    const narrow = await system.newKey(KeyScope.ALL, system.accountId, [endpoint]);
    t.equal((await send(path, { headers: bearer(narrow) })).status, 404, 'a key for endpoints sees no pods');
  });

  await t.test('a revoked key closes the WebSockets that it opened by path', async (t) => {
    const fields = {
      name: 'leaked',
      scope: KeyScope.ALL,
      endpointIds: [],
      accountId: system.accountId,
      permissions: undefined,
    };
    const made = await call(system.clients.keys, 'createKey', fields, system.rootKey);
    const chat = `${url.replace('http', 'ws')}/pods/${pod.id}/${pod.port}/chat`;
    const [talk, kept] = [echoWebSocket(chat, made.secret), echoWebSocket(chat, key)];
    await waitFor('words', () => talk.words > 0 && kept.words > 0);
    await call(system.clients.keys, 'revokeKey', { id: made.key!.id }, key);
    await waitFor('its end', () => !talk.isOpen);
    const { words } = kept;
    await waitFor('another key to talk on', () => kept.words > words + 5 || !kept.isOpen);
    t.ok(kept.isOpen);
    kept.stop();
  });

  await t.test('ports that are not exposed are not reachable', async (t) => {
    t.match(await send(`/pods/${pod.id}/22/`, { headers: bearer(key) }), { status: 404, text: /no port \\"22\/http/ });
    t.equal((await send('/x', { headers: { host: `${pod.id}-22.pods.localhost` } })).status, 404);
    t.equal((await send('/pods/abcdefghijklmn/80/', { headers: bearer(key) })).status, 404);
    t.equal(
      (await send('/x', { headers: { host: `${pod.id}-${pod.port}.elsewhere` } })).status,
      404,
      'hosts that the operator did not name',
    );
    await pods.act('stopPod', pod.id);
    await waitFor('silence', async () => {
      const { status, json } = await send(path, { headers: bearer(key) });
      return status === 502 && json['code'] === 'pod_not_listening';
    });
  });
  await agent.stop();
});

await t.test('ports of a pod on a machine that cannot be reached', async (t) => {
  await system.startAgent(undefined, { SLIPWAY_TUNNEL_ADDRESS: url });
  await serves(t, await startPod());
});
