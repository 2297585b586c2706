// test: postgres, python, envoy, 20 s
/** Load-balancing endpoints as clients have them: through the real Envoy with TLS, by path and by host. */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { PartSupport } from '@slipway/proto/gen/slipway/v1/part_service';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { openUnread, TALK_BYTES, UNREAD_SOCKETS } from '../../helpers/net/unread-websocket.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789' };

/** Readers that take nothing, at once. */
const SLOW = 8;

interface Sent {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: Buffer;
  trailers?: Record<string, string>;
}

t.test('a load-balancing endpoint behind the edge', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startSystem(t, {
    coreEnv: KEY,
    facadeEnv: { ...KEY, SLIPWAY_LB_DOMAINS: 'lb.localhost', SLIPWAY_TRUSTED_PROXIES: '' },
  });
  const { key } = system;
  const certificates = await makeCertificates(t);
  const behind = { SLIPWAY_EDGE_FACADES: new URL(system.url).host, SLIPWAY_CORE_ADDRESS: system.cores[0]!.address };
  const edge = await startEdge(t, { ...behind, ...KEY, ...certificates.env });
  const [host, port] = edge.addresses['public']!.split(':') as [string, string];
  const tls = { host, port: Number(port), ca: certificates.read('ca.pem'), servername: 'x.lb.localhost' };
  const id = await lbEndpoint(system, { workersMax: 2 });

  await t.test('core knows the version of the edge', async (t) => {
    const clients = grpcClients(system.cores[0]!.address);
    t.teardown(() => clients.close());
    const { parts } = await call(clients.parts, 'listParts', {}, system.rootKey);
    const edges = parts.filter(({ name }) => name === 'edge');
    t.match(edges, [{ version: /^\d+\.\d+\.\d+$/, support: PartSupport.SERVED }]);
  });

  const send = (
    path: string,
    { method = 'GET', headers = {}, body, trailers }: Sent = {},
  ): Promise<IncomingMessage & { bytes: Buffer }> =>
    new Promise((resolve, reject) => {
      const asking = httpsRequest(
        { ...tls, path, method, headers: { authorization: `Bearer ${key}`, ...headers } },
        async (answer) => {
          resolve(
            Object.assign(answer, { bytes: Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)) }),
          );
        },
      );
      if (trailers) asking.addTrailers(trailers);
      asking.once('error', reject).end(body);
    });
  /** Returns an answer of which nothing is read yet. */
  const open = (path: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const asking = httpsRequest(
        { ...tls, path, agent: false, headers: { authorization: `Bearer ${key}` } },
        (answer) => resolve(answer.pause()),
      );
      asking.once('error', reject).end();
    });
  const shown = async (path: string, sent?: Sent): Promise<Record<string, unknown>> =>
    JSON.parse((await send(path, sent)).bytes.toString()) as Record<string, unknown>;

  await t.test('scale from zero: a burst of requests is held, and none is lost', async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        shown(`/v2/${id}/any?n=${n}`, { method: 'POST', body: Buffer.from(`${n}`) }),
      ),
    );
    t.same(
      answers.map(({ url }) => url),
      answers.map((_, n) => `/any?n=${n}`),
    );
  });

  await t.test(
    'by path and by host: method, path, query and body pass unchanged, without key and spoofed headers',
    async (t) => {
      const body = random.bytes(20 * 1024 * 1024);
      const headers = {
        'x-mine': 'yes',
        'x-slipway-upstream': 'evil',
        'x-forwarded-host': 'evil',
        'x-forwarded-for': '9.9.9.9',
        'content-length': body.length,
      };
      const given = await shown(`/v2/${id}/a//b%20c%2Fd/?x=1&api_key=zzz&y=%41`, { method: 'PUT', body, headers });
      t.match(given, {
        method: 'PUT',
        url: '/a//b%20c%2Fd/?x=1&y=%41',
        sha256: createHash('sha256').update(body).digest('hex'),
      });
      const seen = (given['headers'] as string[]).join('\n').toLowerCase();
      t.match(seen, 'x-mine\nyes');
      for (const word of [key, 'authorization', 'evil', 'x-slipway', 'zzz']) t.notOk(seen.includes(word), word);
      t.match(
        await shown('/run', { headers: { host: `${id}.lb.localhost:${port}` } }),
        { url: '/run' },
        'the host form has all paths',
      );
      t.equal((await send(`/v2/${id}/download?bytes=20000000`)).bytes.length, 20_000_000);
      t.match((await send(`/v2/${id}/x`)).headers['x-runpod-worker-id'], /^[a-z0-9]{14}$/);
      t.match(JSON.parse((await send(`/v2/${id}/x`, { headers: { authorization: '' } })).bytes.toString()), {
        status: 401,
        title: 'Unauthorized',
      });
    },
  );

  await t.test('curl by HTTP/2', async (t) => {
    const { stdout } = await promisify(execFile)('curl', [
      '-sS',
      '--http2',
      '--cacert',
      certificates.file('ca.pem'),
      '-H',
      `Authorization: Bearer ${key}`,
      '-w',
      '\n%{http_version} %{http_code}',
      '--data-binary',
      'from curl',
      '--resolve',
      `localhost:${port}:${host}`,
      `https://localhost:${port}/v2/${id}/any?x=1`,
    ]);
    const [answer = '', version] = stdout.split('\n');
    t.equal(version, '2 200');
    t.match(JSON.parse(answer), {
      method: 'POST',
      url: '/any?x=1',
      sha256: createHash('sha256').update('from curl').digest('hex'),
    });
  });

  await t.test('httpx and websockets of Python', { skip: skipWithoutPython('new') }, async (t) => {
    const { stdout } = await promisify(execFile)(PYTHONS.new, [
      join(import.meta.dirname, 'lb_clients.py'),
      `https://${host}:${port}`,
      `wss://${host}:${port}`,
      id,
      key,
      certificates.file('ca.pem'),
    ]);
    t.match(JSON.parse(stdout), {
      up: { bytes: 300_000 },
      events: ['data: 1', 'data: 2', 'data: 3'],
      echo: 'hello',
      missing: [404, { code: 'endpoint_not_found' }],
    });
  });

  await t.test('the client address from the edge counts on every way, because the edge has the key', async (t) => {
    for (const more of [{}, { 'x-runpod-worker-id': 'nobody' }] as OutgoingHttpHeaders[]) {
      const seen = (await shown(`/v2/${id}/x`, { headers: more }))['headers'] as string[];
      t.match(seen.join('\n').toLowerCase(), /x-forwarded-proto\nhttps/);
    }
  });

  await t.test('events and trailers', async (t) => {
    t.equal((await send(`/v2/${id}/stream`)).bytes.toString(), 'data: 1\n\ndata: 2\n\ndata: 3\n\n');
    const headers = { trailer: 'x-up', te: 'trailers', 'transfer-encoding': 'chunked' };
    const answer = await send(`/v2/${id}/trailers`, {
      method: 'POST',
      headers,
      body: Buffer.from('body'),
      trailers: { 'x-up': 'mine' },
    });
    t.same([answer.bytes.toString(), answer.trailers], ['{"x-up":"mine"}', { 'x-sum': 'all' }]);
  });

  await t.test('a WebSocket, by path and by host', async (t) => {
    for (const [path, name] of [
      [`/v2/${id}/chat`, 'localhost'],
      ['/chat', `${id}.lb.localhost`],
    ] as const) {
      const socket = connectTls(tls);
      let text = '';
      socket.on('data', (piece: Buffer) => {
        text += piece.toString('latin1');
      });
      socket.write(
        `GET ${path} HTTP/1.1\r\n` +
          `host: ${name}\r\n` +
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
      t.pass(name);
      socket.destroy();
    }
  });

  await t.test(
    '30 MB pass each way without a length, directly and through a facade; slow readers fill no memory',
    async (t) => {
      const few = await lbEndpoint(system, { workerConcurrency: 99 });
      const { pid } = JSON.parse(readFileSync(join(edge.dataDir, 'running.json'), 'utf8')) as { pid: number };
      const body = random.bytes(LB_BODY_BYTES_MAX);
      const sha256 = createHash('sha256').update(body).digest('hex');
      for (const [way, endpointId] of [
        ['straight', id],
        ['by a facade', few],
      ] as const) {
        const headers = { 'transfer-encoding': 'chunked' };
        t.match(
          await shown(`/v2/${endpointId}/up`, { method: 'PUT', headers, body }),
          { bytes: body.length, sha256 },
          way,
        );
        t.equal(
          (await send(`/v2/${endpointId}/download?bytes=${LB_BODY_BYTES_MAX}`)).bytes.length,
          LB_BODY_BYTES_MAX,
          way,
        );
        const before = { envoy: memoryMib(pid).now, facade: memoryMib(process.pid).now };
        const slow = await Promise.all(
          Array.from({ length: SLOW }, () => open(`/v2/${endpointId}/flow?bytes=${LB_BODY_BYTES_MAX}`)),
        );
        t.notOk('content-length' in slow[0]!.headers);
        const flowed: unknown[] = [];
        await waitFor('nothing more to flow', async () => {
          flowed.push((await shown(`/v2/${endpointId}/count`))['flowedInAll']);
          return flowed.length > 20 && flowed.at(-20) === flowed.at(-1);
        });
        const grown = { envoy: memoryMib(pid).now - before.envoy, facade: memoryMib(process.pid).now - before.facade };
        for (const [part, mib] of Object.entries(grown))
          t.ok(mib < (SLOW * 30) / 2, `${way}: ${part} ${Math.round(mib)} MiB more`);
        let bytes = 0;
        for await (const piece of slow[0]! as AsyncIterable<Buffer>) bytes += piece.length;
        t.equal(bytes, LB_BODY_BYTES_MAX, `${way}: whole, at the reader's pace`);
        for (const each of slow) each.destroy();
      }
      const longer = await open(`/v2/${few}/flow?bytes=${LB_BODY_BYTES_MAX + 65_536}`);
      await t.rejects(
        Array.fromAsync(longer as AsyncIterable<Buffer>),
        'what is longer than it may be and does not say so beforehand breaks off',
      );
    },
  );

  await t.test(
    'WebSockets that read nothing, direct and through a facade, fill no memory and delay nobody',
    async (t) => {
      const few = await lbEndpoint(system, { workerConcurrency: 99 });
      const { pid } = JSON.parse(readFileSync(join(edge.dataDir, 'running.json'), 'utf8')) as { pid: number };
      for (const [way, endpointId] of [
        ['straight', id],
        ['by a facade', few],
      ] as const) {
        const flowedInAll = async (): Promise<number> =>
          Number((await shown(`/v2/${endpointId}/count`))['flowedInAll']);
        const sofar = await flowedInAll();
        const before = { envoy: memoryMib(pid).now, facade: memoryMib(process.pid).now };
        const deaf = await Promise.all(
          Array.from({ length: UNREAD_SOCKETS }, () =>
            openUnread(connectTls(tls), `/v2/${endpointId}/talk?bytes=${TALK_BYTES}`, key),
          ),
        );
        const flowed: number[] = [];
        await waitFor('nothing more to flow', async () => {
          flowed.push(await flowedInAll());
          return flowed.length > 20 && flowed.at(-20) === flowed.at(-1);
        });
        t.ok(
          flowed.at(-1)! - sofar < (UNREAD_SOCKETS * TALK_BYTES) / 2,
          `${way}: the worker is held up (${flowed.at(-1)! - sofar} bytes)`,
        );
        const grown = { envoy: memoryMib(pid).now - before.envoy, facade: memoryMib(process.pid).now - before.facade };
        for (const [part, mib] of Object.entries(grown)) t.ok(mib < 64, `${way}: ${part} ${Math.round(mib)} MiB more`);
        t.match(
          await shown(`/v2/${endpointId}/up`, { method: 'PUT', body: Buffer.from('beside') }),
          { bytes: 6 },
          `${way}: a normal client`,
        );
        for (const socket of deaf) socket.destroy();
      }
    },
  );

  await t.test('a worker that dies fails only its own request', async (t) => {
    const died = await send(`/v2/${id}/die`, { method: 'POST' });
    t.equal(died.statusCode, 502, died.bytes.toString());
    // Until its agent has seen its end, the facade may try it once more.
    await waitFor('another worker', async () => (await send(`/v2/${id}/x`)).statusCode === 200);
  });
});
