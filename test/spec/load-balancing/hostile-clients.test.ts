// test: postgres, python, 10 s
/**
 * Load-balancing endpoints without a proxy in front, among clients that mean no good: hidden requests, spoofed headers,
 * confused hosts, idle connections.
 */
import { connect } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import { exchange } from '../../helpers/net/raw-http.ts';
import { hidingRequests } from '../../helpers/net/smuggling.ts';
import { pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import type { ShownRequest } from '../../helpers/system/lb-endpoint.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);
const system = await startSystem(t, {
  facadeEnv: { SLIPWAY_LB_PROCESSING_MS: '5000', SLIPWAY_TRUSTED_PROXIES: '192.0.2.0/24,fd00::1' },
});
const { url, key } = system;
const { at, shown } = lbClient(system);
async function hide(t: Test, endpointId: string): Promise<void> {
  for (const [name, text] of hidingRequests(`/v2/${endpointId}/p`, key)) {
    const { status } = await exchange(url, { pieces: [text] });
    t.ok([200, 400].includes(status), `${name}: ${status}`);
  }
  const { seen } = await shown(at(endpointId, '/seen'));
  t.notOk(
    seen.some((line) => line.includes('hidden')),
    'the worker saw nothing that was hidden',
  );
  t.ok(
    seen.every((line) => /^(GET|POST|DELETE) \/(p|x|seen)$/.test(line)),
    seen.join(', '),
  );
}

t.test('no request hides in another: a Node worker', async (t) => {
  const endpointId = await lbEndpoint(system, { workersMin: 1 });
  await shown(at(endpointId, '/x'));
  await hide(t, endpointId);
});

for (const parser of ['h11', 'httptools']) {
  t.test(`no request hides in another: uvicorn with ${parser}`, { skip: skipWithoutPython('new') }, async (t) => {
    const endpointId = await lbEndpoint(
      system,
      { workersMin: 1, env: { UVICORN_HTTP: parser } },
      { command: pythonHandler('new', 'asgi.py') },
    );
    await shown(at(endpointId, '/x'));
    await hide(t, endpointId);
  });
}

const namesOf = ({ headers }: ShownRequest): Record<string, string> =>
  Object.fromEntries(
    headers.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), headers[index + 1]!]] : [])),
  );

t.test('internal headers from clients are dropped in every spelling', async (t) => {
  const endpointId = await lbEndpoint(system, { workersMin: 1 });
  const spoofed = {
    'X-SLIPWAY-Endpoint': 'other',
    x_slipway_account: 'other',
    'X_Forwarded-For': '6.6.6.6',
    x_forwarded_host: 'evil',
    'x-forwarded-prefix': '/evil',
    forwarded: 'for=6.6.6.6',
    'x-real-ip': '6.6.6.6',
    'x-envoy-original-path': '/evil',
    X_Runpod_Worker_Id: 'other',
    'x-mine': 'yes',
    x_mine_too: 'yes',
  };
  const names = namesOf(await shown(at(endpointId, '/x', { headers: spoofed })));
  t.match(names, { 'x-mine': 'yes', x_mine_too: 'yes', 'x-forwarded-prefix': `/v2/${endpointId}` });
  t.same(
    Object.keys(names).filter((name) => /slipway|runpod|_forwarded/.test(name)),
    [],
  );
  t.notMatch(JSON.stringify(names), /6\.6\.6\.6|evil|Bearer/);
  // Headers named by Connection are removed, except those that frame it, name its host or tell its origin.
  const { text } = await exchange(url, {
    pieces: [
      `POST /v2/${endpointId}/x HTTP/1.1\r\n` +
        'host: a\r\n' +
        `authorization: Bearer ${key}\r\n` +
        'content-length: 2\r\n' +
        'x-gone: 1\r\n' +
        'x-kept: 1\r\n' +
        'connection: x-gone, host, content-length, x-forwarded-for\r\n' +
        '\r\n' +
        '{}',
    ],
  });
  const kept = namesOf(JSON.parse(text) as ShownRequest);
  t.match(kept, { host: 'a', 'content-length': '2', 'x-kept': '1', 'x-forwarded-for': /127\.0\.0\.1$/ });
  t.notOk('x-gone' in kept);
});

t.test('requests whose host and path name different endpoints', async (t) => {
  const [a, b] = [await lbEndpoint(system, { workersMin: 1 }), await lbEndpoint(system, { workersMin: 1 })];
  const [ofA, ofB] = [(await shown(at(a, '/x'))).worker, (await shown(at(b, '/x'))).worker];
  const { port } = new URL(url);
  const ask = async (line: string, ...hosts: string[]): Promise<{ status: number; worker?: string; url?: string }> => {
    const lines = hosts.map((host) => `host: ${host}\r\n`).join('');
    const { status, json } = await exchange(url, {
      pieces: [`GET ${line} HTTP/1.1\r\n${lines}authorization: Bearer ${key}\r\nconnection: close\r\n\r\n`],
    });
    return { status, ...json };
  };
  t.match(
    await ask(`/v2/${b}/x`, `${a}.localhost:${port}`),
    { status: 200, worker: ofA, url: `/v2/${b}/x` },
    'the host counts',
  );
  t.match(await ask('/x', `${a.toUpperCase()}.LOCALHOST.:1`), { status: 200, worker: ofA });
  t.match(await ask(`/v2/${b}/x`, 'localhost'), { status: 200, worker: ofB, url: '/x' });
  for (const host of [
    `${a}.localhost.evil.example`,
    `x.${a}.localhost`,
    `${a}.localhost@evil`,
    `evil/${a}.localhost`,
    `${a}.localhost, ${b}.localhost`,
  ]) {
    const { status, worker } = await ask('/x', host);
    t.ok(status >= 400 && worker === undefined, `${host}: ${status}`);
  }
  t.match(await ask('/x', `${a}.localhost`, `${b}.localhost`), { status: 400 }, 'two hosts');
  for (const line of [`http://${b}.localhost/x`, `http://evil/v2/${b}/x`, `//${b}.localhost/x`]) {
    const { status, worker } = await ask(line, `${a}.localhost`);
    t.not(worker, ofB, `${line}: ${status}`);
  }
  t.match(await ask(`/v2/${a}%2f..%2f${b}/x`, 'localhost'), { status: 404 });
  t.match(
    await ask(`/v2/${a}/../${b}/x`, 'localhost'),
    { status: 200, worker: ofA, url: `/../${b}/x` },
    "dots are the worker's to understand",
  );
});

t.test('2,000 idle connections beside a normal client', async (t) => {
  const endpointId = await lbEndpoint(system, { workersMin: 1 });
  await shown(at(endpointId, '/x'));
  const { hostname, port } = new URL(url);
  const idle = await Promise.all(
    Array.from(
      { length: 2_000 },
      () =>
        new Promise<ReturnType<typeof connect>>((resolve, reject) => {
          const socket = connect(Number(port), hostname, () => resolve(socket)).once('error', reject);
        }),
    ),
  );
  t.match(await shown(at(endpointId, '/x', { method: 'POST', body: 'x' })), { bytes: 1 });
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat?api_key=${key}`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  socket.close();
  for (const each of idle) each.destroy();
});

t.test('client addresses count from trusted proxies only', async (t) => {
  const id = await lbEndpoint(system);
  const said = {
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-host': 'evil',
    'x-forwarded-proto': 'evil',
    'x-slipway-edge': 'guess',
  };
  const seen = (await shown(at(id, '/x', { headers: said }))).headers.join('\n').toLowerCase();
  t.match(seen, `x-forwarded-host\n${new URL(url).host}`);
  t.match(seen, /x-forwarded-proto\nhttp\n/);
  for (const word of ['evil', '6.6.6.6', 'guess']) t.notOk(seen.includes(word), word);
});
