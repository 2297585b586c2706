/** Answers to HTTP requests that break off or cannot be parsed. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { DISCARD_BYTES_MAX } from '@slipway/facades/plugins/connections/lingering-close';
import { rejectBrokenRequest } from '@slipway/facades/plugins/errors/broken-request';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

const served: string[] = [];
/** Answers that are held until the connection has read so many bytes. */
const HELD = new Map<string, number>();
const server = createServer({ headersTimeout: 100, connectionsCheckingInterval: 20 }, (request, reply) => {
  served.push(request.url!);
  const bytes = HELD.get(request.url!) ?? 0;
  const { socket } = request;
  void waitFor('the rest', () => socket.destroyed || socket.bytesRead >= bytes).then(() => reply.end('ok'));
});
server.on('clientError', (error, socket) => rejectBrokenRequest(error, socket as Socket, systemClock));
await once(server.listen(0, '127.0.0.1'), 'listening');
t.teardown(() => server.close());

/** Returns all that the server sends, until it closes, on a connection that sends this text and then nothing. */
async function answerTo(sent: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  if (sent) socket.write(sent);
  return text(socket);
}

t.test(
  'a connection that was opened ahead and never used is closed without a word: its first request would ' +
    'take it for its answer',
  async (t) => {
    t.equal(await answerTo(''), '');
  },
);

t.test('unfinished headers get an explanation', async (t) => {
  t.match(
    await answerTo('GET /v2/x HTTP/1.1\r\nhost: slipway\r\n'),
    /^HTTP\/1\.1 400 Bad Request\r\n[^]*did not arrive in time[^]*"invalid_request"/,
  );
});

t.test('unfinished headers of a second request, too', async (t) => {
  const answer = await answerTo('GET / HTTP/1.1\r\nhost: slipway\r\n\r\nGET /v2/x HT');
  t.match(answer, /^HTTP\/1\.1 200 OK[^]*HTTP\/1\.1 400 Bad Request/);
});

t.test('what follows a request with Connection: close is not run, and takes no answer from it', async (t) => {
  const last = 'POST /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx';
  const rest = {
    'a request': 'GET /further HTTP/1.1\r\nhost: x\r\n\r\n',
    'what is no request': 'x'.repeat(100_000),
  };
  for (const [what, text] of Object.entries(rest)) {
    HELD.set('/last', last.length + text.length);
    t.match(await answerTo(last + text), /^HTTP\/1\.1 200 OK[^]*\r\n\r\nok$/, what);
  }
  t.notOk(served.includes('/further'));
});

t.test('a client that sends without end behind its last request is cut off', async (t) => {
  HELD.set('/waits', Infinity);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const closed = new Promise((resolve) => {
    socket.on('error', () => undefined).once('close', resolve);
  });
  socket.write('GET /waits HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  const piece = Buffer.alloc(1024 * 1024, 'x');
  for (let sent = 0; sent <= 2 * DISCARD_BYTES_MAX && !socket.destroyed; sent += piece.length)
    if (!socket.write(piece)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  await closed;
  t.ok(socket.bytesWritten > DISCARD_BYTES_MAX / 2);
});
