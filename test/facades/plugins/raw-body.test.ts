/** Bodies over a real connection: any content type, limits with and without a length, slow and broken bodies. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { bodyBytes, dropBody, readRawBodies } from '@slipway/facades/plugins/bodies/raw-body';
import { handleErrors, queueErrorShape } from '@slipway/facades/plugins/errors/error-handler';
import { addRequestState } from '@slipway/facades/plugins/request-state';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import { createLogger } from '@slipway/kit/log/logger';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** So that a body may be large enough to be counted. */
const MAX = 40_000;

async function setup(
  t: Test,
  timeouts = { idleMs: 10_000, totalMs: 10_000 },
  room = { bytesMax: 4_000_000, ownerBytesMax: 2_000_000 },
) {
  const app = fastify();
  addRequestState(app);
  readRawBodies(app, { timeouts, budget: new MemoryBudget(room), clock: systemClock });
  handleErrors(app, queueErrorShape, createLogger('test', 'silent'));
  const onRequest = async (request: { bodyBytesMax: number; headers: Record<string, unknown> }): Promise<void> => {
    request.bodyBytesMax = MAX;
    if (request.headers['authorization'] === 'no') throw Object.assign(new Error('no key'), { statusCode: 401 });
  };
  app.post('/', { onRequest }, async (request) => ({
    size: bodyBytes(request.body).length,
    type: request.sentContentType,
  }));
  /** Requests answered only when the test releases them. A body with `drop` is dropped before that. */
  const held: (() => void)[] = [];
  app.post('/held', { onRequest }, async (request) => {
    if (bodyBytes(request.body).includes('drop')) dropBody(request);
    await new Promise<void>((resolve) => {
      held.push(resolve);
    });
    return {};
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    for (const answer of held) answer();
    app.server.closeAllConnections();
    return app.close();
  });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, port, held };
}

/** Sends raw bytes and returns what comes back until the connection ends or `until` shows up. */
async function exchange(t: Test, port: number, send: (socket: Socket) => void, until: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let text = '';
  const seen = new Promise<void>((resolve) => {
    socket.on('data', (piece) => {
      text += piece.toString();
      if (text.includes(until)) resolve();
    });
    socket.on('close', () => resolve());
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  send(socket);
  await seen;
  return text;
}

t.test('any content type, also one that is none', async (t) => {
  const { url } = await setup(t);
  for (const type of [
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'nonsense',
    'multipart/form-data',
  ]) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body: '{"input":{}}' });
    t.same(await response.json(), { size: 12, type }, type);
  }
});

t.test(
  'one connection: bodies with their headers, behind them, empty, and in two pieces with the next request',
  async (t) => {
    const { port } = await setup(t);
    const head = (bytes: number): string => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`;
    // Each is sent when the one before was answered, as far as it has an answer.
    const writes = [
      `${head(3)}abc`,
      head(4),
      `abcd${head(0)}`,
      `${head(0)}${head(5)}ab`,
      `cde${head(16_384)}${'x'.repeat(16_384)}`,
    ];
    const text = await exchange(
      t,
      port,
      (socket) => {
        const next = (): void => {
          const write = writes.shift();
          if (write !== undefined) socket.write(write);
          // It has no answer before its body.
          if (write === head(4)) setImmediate(next);
        };
        socket.on('data', next);
        next();
      },
      '"size":16384',
    );
    t.same(
      [...text.matchAll(/"size":(\d+)/g)].map(([, size]) => Number(size)),
      [3, 4, 0, 0, 5, 16_384],
    );
  },
);

t.test('a body in one-byte pieces', async (t) => {
  const { port } = await setup(t);
  const body = Buffer.from(`{"input":"${'x'.repeat(20_000)}"}`);
  const chunks = [...body].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
  const text = await exchange(t, port, (socket) => socket.write(`${head}${chunks}0\r\n\r\n`), '"size"');
  t.match(text, `"size":${body.length}`);
});

t.test('no body under a JSON content type', async (t) => {
  const { url } = await setup(t);
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' } });
  t.same(await response.json(), { size: 0, type: 'application/json' });
});

t.test('the limit: with and without content-length, and the connection lives on', async (t) => {
  const { url, port } = await setup(t);
  const fits = await fetch(url, { method: 'POST', body: 'x'.repeat(MAX) });
  t.match(await fits.json(), { size: MAX });
  const long = await fetch(url, { method: 'POST', body: 'x'.repeat(MAX + 1) });
  t.equal(long.status, 400);
  t.match(await long.json(), { code: 'payload_too_large' });
  const piece = 'x'.repeat(MAX * 0.6);
  const chunked = await exchange(
    t,
    port,
    (socket) => {
      socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
      for (let i = 0; i < 3; i += 1) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      socket.write('0\r\n\r\nPOST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}');
    },
    '"size":2',
  );
  t.match(
    chunked,
    /400 Bad Request[^]*payload_too_large[^]*200 OK[^]*"size":2/,
    'the next request on the same connection is served',
  );
});

t.test('a large body is refused while the client is still sending, and it sees the answer', async (t) => {
  const { url } = await setup(t);
  const response = await fetch(url, { method: 'POST', body: 'x'.repeat(20_000_000) });
  t.equal(response.status, 400);
  t.match(await response.json(), { code: 'payload_too_large' });
});

t.test('a refused body is thrown away only so far, with and without content-length', async (t) => {
  const { port } = await setup(t);
  const piece = Buffer.alloc(1_048_576, 'x');
  const framed = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]);
  for (const [head, part] of [
    ['content-length: 999999999999', piece],
    ['transfer-encoding: chunked', framed],
  ] as const) {
    let sent = 0;
    const more = (socket: Socket): void => {
      while (sent < 200 && !socket.destroyed) {
        sent += 1;
        if (!socket.write(part)) return void socket.once('drain', () => more(socket));
      }
      socket.destroy();
    };
    const answer = await exchange(
      t,
      port,
      (socket) => {
        socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`);
        more(socket);
      },
      '\u0000',
    );
    t.match(answer, /400 Bad Request/, head);
    t.ok(sent >= 64 && sent < 150, `${head}: ended after ${sent} MiB`);
  }
});

t.test('bodies wait for memory, which is freed by sent responses, dropped bodies and leaving clients', async (t) => {
  const { url, held } = await setup(t, undefined, { bytesMax: 60_000, ownerBytesMax: 60_000 });
  const post = async (path: string, body: string, signal?: AbortSignal): Promise<{ status: number; text: string }> => {
    const response = await fetch(url + path, { method: 'POST', body, signal: signal ?? null });
    return { status: response.status, text: await response.text() };
  };
  const first = post('held', 'x'.repeat(MAX));
  await waitFor('the first', () => held.length === 1);
  const second = post('', 'x'.repeat(MAX));
  t.equal((await post('', 'x'.repeat(MAX / 2))).status, 200, 'what fits is not kept waiting by what does not');
  t.equal(await Promise.race([second, delay(systemClock, 100).then(() => 'waits')]), 'waits');
  held[0]!();
  t.equal((await first).status, 200);
  t.match((await second).text, `"size":${MAX}`);
  const dropped = post('held', 'drop'.repeat(MAX / 4));
  await waitFor('the third', () => held.length === 2);
  t.equal((await post('', 'x'.repeat(MAX))).status, 200, 'beside a body that was dropped');
  held[1]!();
  await dropped;
  const leave = new AbortController();
  const left = post('held', 'x'.repeat(MAX), leave.signal).catch(() => 'left');
  await waitFor('the fourth', () => held.length === 3);
  leave.abort();
  t.equal(await left, 'left');
  t.equal((await post('', 'x'.repeat(MAX))).status, 200, 'after a client that left');
});

t.test('a body without memory in time is refused', async (t) => {
  const { url, held } = await setup(t, { idleMs: 10_000, totalMs: 100 }, { bytesMax: 60_000, ownerBytesMax: 60_000 });
  const first = fetch(`${url}held`, { method: 'POST', body: 'x'.repeat(MAX) });
  await waitFor('the first', () => held.length === 1);
  const second = await fetch(url, { method: 'POST', body: 'x'.repeat(MAX) });
  t.equal(second.status, 429);
  t.equal(second.headers.get('retry-after'), '1');
  await second.text();
  const small = await fetch(url, { method: 'POST', body: '{}' });
  t.equal(small.status, 200, 'a small one needs no room');
  await small.text();
  held[0]!();
  await (await first).text();
});

t.test('a body that stops arriving', async (t) => {
  const { port } = await setup(t, { idleMs: 50, totalMs: 10_000 });
  const answer = await exchange(
    t,
    port,
    (socket) => socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{'),
    '\u0000',
  );
  t.match(answer, /400 Bad Request[^]*connection: close[^]*No part of the body arrived/i);
});

t.test('a body that arrives too slowly as a whole', async (t) => {
  const { port } = await setup(t, { idleMs: 10_000, totalMs: 50 });
  const answer = await exchange(
    t,
    port,
    (socket) => socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{'),
    '\u0000',
  );
  t.match(answer, /400 Bad Request[^]*did not arrive within 0.05 s/i);
});

t.test('a client with Expect: 100-continue', async (t) => {
  const { port } = await setup(t);
  const head = 'POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n';
  const wanted = await exchange(
    t,
    port,
    (socket) => {
      socket.write(`${head}\r\n`);
      socket.once('data', () => socket.write('{}'));
    },
    '"size":2',
  );
  t.match(wanted, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  const unwanted = await exchange(t, port, (socket) => socket.write(`${head}authorization: no\r\n\r\n`), '\u0000');
  t.match(unwanted, /^HTTP\/1.1 400 Bad Request/, 'refused without being told to go on');
  t.match(unwanted, /connection: close/i);
});
