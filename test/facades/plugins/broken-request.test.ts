/** Answers to HTTP requests that break off or cannot be parsed. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { rejectBrokenRequest } from '@slipway/facades/plugins/errors/broken-request';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';

const server = createServer({ headersTimeout: 100, connectionsCheckingInterval: 20 }, (_, reply) => reply.end('ok'));
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
