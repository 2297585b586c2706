/** A connection is read for a bounded time after its last response. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import {
  DISCARD_BYTES_MAX,
  DISCARD_MS_MAX,
  lingerBeforeClose,
} from '@slipway/facades/plugins/connections/lingering-close';
import { rejectBrokenRequest, rejectConnect } from '@slipway/facades/plugins/errors/broken-request';
import { HTTP_HEADER_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** Longest silence, and time between two checks, in milliseconds. */
const SILENCE_MS = 5_000;
const CHECK_MS = 1_000;
const PIECE = Buffer.alloc(64 * 1024, 'x');
const HEAD = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n';

async function setup(t: Test, listener: RequestListener = (_, reply) => reply.end('early')) {
  const clock = new ManualClock();
  const server = createServer({ maxHeaderSize: HTTP_HEADER_BYTES_MAX }, listener);
  const served: Socket[] = [];
  server.on('connection', (socket) => served.push(socket));
  server.on('checkContinue', listener).on('checkExpectation', listener);
  server.on('clientError', (error, socket) => rejectBrokenRequest(error, socket as Socket, clock));
  server.on('connect', (_, socket) => rejectConnect(socket as Socket, clock));
  lingerBeforeClose(server, clock);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    for (const socket of served) socket.destroy();
    server.close();
  });
  /** Opens a connection that reads nothing yet, and sends that on it. */
  const open = async (sent: string): Promise<{ client: Socket; socket: Socket }> => {
    // Half open, so that it is the server that ends the connection, or not.
    const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => undefined).pause();
    t.teardown(() => client.destroy());
    await once(client, 'connect');
    client.write(sent);
    await waitFor('the connection', () => served.length > 0 && served.at(-1)!.bytesWritten > 0);
    return { client, socket: served.at(-1)! };
  };
  return { clock, open };
}

/** Returns all that arrives until the server ends the connection. */
async function textOf(client: Socket): Promise<string> {
  let text = '';
  client.on('data', (piece: Buffer) => {
    text += piece.toString();
  });
  client.resume();
  await once(client, 'end');
  return text;
}

t.test('the connection ends with the request', async (t) => {
  const { open } = await setup(t);
  const { client, socket } = await open(`${HEAD}content-length: ${8 * PIECE.length}\r\n\r\n`);
  t.notOk(socket.destroyed, 'not with the response');
  for (let n = 0; n < 8; n += 1) client.write(PIECE);
  await once(socket, 'close');
  t.match(await textOf(client), /^HTTP\/1\.1 200 OK[^]*early$/);
});

t.test('a connection that was kept after an early response ends with a later one', async (t) => {
  const { open } = await setup(t, ({ url }, reply) => {
    if (url === '/last') reply.setHeader('connection', 'close');
    reply.end('early');
  });
  const { client, socket } = await open('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n');
  client.write('xGET /last HTTP/1.1\r\nhost: x\r\n\r\n');
  if (!socket.destroyed) await once(socket, 'close');
  t.match(await textOf(client), /early[^]*connection: close[^]*early$/);
});

t.test('a request that is complete is not waited for', async (t) => {
  const { open } = await setup(t, (request, reply) => {
    request.resume().once('end', () => reply.end('late'));
  });
  const { socket } = await open(`${HEAD}content-length: 2\r\n\r\nxx`);
  if (!socket.destroyed) await once(socket, 'close');
});

t.test('a client that waits to be asked for its body', async (t) => {
  const { clock, open } = await setup(t);
  const { client, socket } = await open(`${HEAD}expect: 100-continue\r\ncontent-length: 9\r\n\r\n`);
  t.match(await textOf(client), /early$/);
  client.end();
  await once(socket, 'close');
  clock.pass(DISCARD_MS_MAX);
});

t.test('a silent client is waited for a while', async (t) => {
  const { clock, open } = await setup(t);
  const { client, socket } = await open(`${HEAD}content-length: 9\r\n\r\n`);
  t.match(await textOf(client), /early$/, 'its sending side ends at once');
  for (let ms = 0; ms < SILENCE_MS - CHECK_MS; ms += CHECK_MS) clock.pass(CHECK_MS);
  t.notOk(socket.destroyed);
  clock.pass(CHECK_MS);
  t.ok(socket.destroyed);
});

t.test('a slow client is waited for longer, not for ever', async (t) => {
  const { clock, open } = await setup(t);
  const { client, socket } = await open(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
  for (let ms = CHECK_MS; ms < DISCARD_MS_MAX; ms += CHECK_MS) {
    const before = socket.bytesRead;
    client.write('1\r\nx\r\n');
    await waitFor('the piece', () => socket.bytesRead > before);
    clock.pass(CHECK_MS);
    t.notOk(socket.destroyed, `${ms} ms`);
  }
  clock.pass(CHECK_MS);
  t.ok(socket.destroyed);
});

t.test('a client that sends without end is cut off', async (t) => {
  const { clock, open } = await setup(t);
  const { client, socket } = await open(`${HEAD}content-length: ${4 * DISCARD_BYTES_MAX}\r\n\r\n`);
  const closed = once(socket, 'close');
  while (socket.bytesRead <= DISCARD_BYTES_MAX) {
    if (!client.write(PIECE)) await once(client, 'drain');
  }
  t.notOk(socket.destroyed);
  clock.pass(CHECK_MS);
  await closed;
});

t.test('what follows a request that cannot be parsed', async (t) => {
  const { open } = await setup(t);
  const { client, socket } = await open(`${HEAD}x-long: ${'x'.repeat(HTTP_HEADER_BYTES_MAX)}\r\n\r\n`);
  for (let n = 0; n < 64; n += 1) if (!client.write(PIECE)) await once(client, 'drain');
  client.end();
  t.match(await textOf(client), /^HTTP\/1\.1 431 [^]*headers_too_large/);
  if (!socket.destroyed) await once(socket, 'close');
});

t.test('what follows CONNECT', async (t) => {
  const { open } = await setup(t);
  const { client, socket } = await open('CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n');
  client.write(PIECE);
  client.end();
  t.match(await textOf(client), /^HTTP\/1\.1 404 /);
  if (!socket.destroyed) await once(socket, 'close');
  t.ok(socket.destroyed, 'nobody holds a connection that has ended');
});
