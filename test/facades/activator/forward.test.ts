/**
 * An answer that is complete at the facade before its client has read it. The worker's connection ends meanwhile, and
 * nothing of the answer may be lost.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { Duplex } from 'node:stream';
import { ConnectionPool } from '@slipway/facades/activator/forwarding/connection-pool';
import { forward } from '@slipway/facades/activator/forwarding/forward';
import { dial } from '@slipway/facades/activator/forwarding/worker-connection';
import { writeRejection } from '@slipway/facades/activator/write-rejection';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { exchange } from '../../helpers/net/raw-http.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const PIECE = Buffer.alloc(10_000, 'x');

/** A client's connection that reads nothing until the test releases it. */
class SlowClient extends Duplex {
  bytes = 0;
  #isOpen = false;
  #waiting: (() => void) | undefined;

  override _read(): void {}

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.bytes += piece.length;
    if (this.#isOpen) done();
    else this.#waiting = done;
  }

  open(): void {
    this.#isOpen = true;
    this.#waiting?.();
  }
}

t.test('a client that reads after the worker has exited gets everything', async (t) => {
  let end = (): void => undefined;
  const worker = createServer((_request, reply) => {
    reply.writeHead(200, { 'content-length': 2 * PIECE.length });
    reply.write(PIECE);
    end = () => reply.end(PIECE);
  }).listen(0, '127.0.0.1');
  await once(worker, 'listening');
  t.teardown(() => worker.close());
  const seen = once(worker, 'connection') as Promise<[Socket]>;

  const front = createServer().listen(0, '127.0.0.1');
  await once(front, 'listening');
  t.teardown(() => front.close());
  const asked = once(front, 'request') as Promise<[IncomingMessage]>;
  void fetch(`http://127.0.0.1:${(front.address() as AddressInfo).port}/`).catch(() => undefined);
  const [request] = await asked;
  t.teardown(() => request.socket.destroy());
  const client = new SlowClient({ writableHighWaterMark: 1 });
  const reply = new ServerResponse(request);
  reply.assignSocket(client as unknown as Socket);
  // As a server does for its own connections.
  client.on('drain', () => reply.emit('drain'));

  const gone = new AbortController().signal;
  const socket = await dial(`127.0.0.1:${(worker.address() as AddressInfo).port}`, gone);
  const target = { endpointId: 'e', path: '/', prefix: '', queryKey: undefined, isShared: false };
  const place = { workerId: 'w', expectsContinue: true, disableContinue: () => undefined };
  const outcome = forward(
    { request, reply, target, gone },
    { socket: socket! },
    place,
    { processingMs: 60_000, socketIdleMs: 60_000 },
    systemClock,
  );
  await waitFor('the answer to begin', () => client.bytes > 0);
  const [connection] = await seen;
  const closed = once(connection, 'close');
  end();
  await closed;
  await waitFor('the end to be seen here', () => socket!.destroyed);
  client.open();
  t.equal(await outcome, 'SERVED');
  await waitFor('all of it', () => client.bytes > 2 * PIECE.length);
  t.notOk(reply.destroyed && !reply.writableFinished, 'nothing was cut');
});

/** Returns a server that forwards requests to one worker over pooled connections. */
async function frontOf(t: Test, port: number) {
  const address = `127.0.0.1:${port}`;
  const target = { endpointId: 'e', path: '/', prefix: '', queryKey: undefined, isShared: false };
  const place = { workerId: 'w', expectsContinue: false, disableContinue: () => undefined };
  const pool = new ConnectionPool(systemClock);
  t.teardown(() => pool.destroy());
  const logger = createLogger('test', 'silent');
  const front = createServer((request, reply) => {
    const gone = new AbortController().signal;
    void dial(address, gone)
      .then((socket) =>
        forward(
          { request, reply, target, gone },
          { socket, pool, address },
          place,
          { processingMs: 60_000, socketIdleMs: 60_000 },
          systemClock,
        ),
      )
      .catch((error: unknown) => writeRejection(error, request, reply, logger));
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  t.teardown(() => front.close());
  return { pool, url: `http://127.0.0.1:${(front.address() as AddressInfo).port}/` };
}

t.test('a worker sees a request before its body arrives, and no body where there is none', async (t) => {
  let seen = '';
  const worker = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      seen += piece.toString();
      if (seen.includes('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  }).listen(0, '127.0.0.1');
  await once(worker, 'listening');
  t.teardown(() => worker.close());
  const { pool, url } = await frontOf(t, (worker.address() as AddressInfo).port);
  for (const method of ['POST', 'PUT', 'PATCH', 'PROPFIND']) {
    seen = '';
    t.match(await exchange(url, { pieces: [`${method} / HTTP/1.1\r\nhost: a\r\n\r\n`] }), { status: 200, text: 'ok' });
    t.match(seen, /^content-length: 0\r$/im, method);
    t.notMatch(seen, /transfer-encoding/i);
    t.ok(seen.endsWith('\r\n\r\n'));
  }
  for (const head of ['content-length: 5', 'transfer-encoding: chunked', 'content-length: 5\r\nexpect: 100-continue']) {
    seen = '';
    t.match(
      await exchange(url, { pieces: [`POST / HTTP/1.1\r\nhost: a\r\n${head}\r\n\r\n`] }),
      { status: 200, text: 'ok' },
      `the answer to ${head}`,
    );
  }
  pool.destroy();
});

t.test('any malformed answer of a worker reaches only its client, as an error', async (t) => {
  let line = '';
  const closed: Promise<unknown>[] = [];
  const worker = createTcpServer((socket) => {
    closed.push(once(socket, 'close'));
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(Buffer.from(`HTTP/1.1 ${line}\r\nContent-Length: 2\r\n\r\nok`, 'latin1')));
  }).listen(0, '127.0.0.1');
  await once(worker, 'listening');
  t.teardown(() => worker.close());
  const { pool, url } = await frontOf(t, (worker.address() as AddressInfo).port);
  const answers: [string, number, string][] = [
    ['000 Zero', 502, ''],
    ['099 Odd', 502, ''],
    ['101 Switching Protocols', 502, ''],
    ['101 X\r\nUpgrade: websocket\r\nConnection: Upgrade', 502, ''],
    ['200 \x01', 200, 'OK'],
    ['200 caf\xc3\xa9', 200, 'caf\xe9'],
    ['299', 299, 'unknown'],
    ['999 Own', 999, 'Own'],
  ];
  for (const [sent, status, reason] of answers) {
    line = sent;
    const answer = await fetch(url);
    const text = await answer.text();
    t.equal(answer.status, status, sent);
    if (status === 502) t.match(JSON.parse(text), { code: 'worker_failed' });
    else t.same([answer.statusText, text], [reason, 'ok']);
  }
  pool.destroy();
  await Promise.all(closed);
});
