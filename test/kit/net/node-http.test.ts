/** A short GET: every end of the connection ends it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { getText } from '@slipway/kit/net/node-http';
import type { Test } from 'tap';
import t from 'tap';

/** Sends a GET to a server that answers every request with these bytes and closes the connection if `closes`. */
async function answeredWith(t: Test, bytes: string, closes: boolean) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => (closes ? socket.end(bytes) : socket.write(bytes)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return getText(`http://127.0.0.1:${port}/`, {}, new AbortController().signal);
}

t.test('an answer, and its text', async (t) => {
  const plain = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  for (const closes of [true, false]) t.same(await answeredWith(t, plain, closes), { status: 200, text: 'ok' });
});

t.test('an answer that would switch protocols, or that is cut off', async (t) => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n';
  for (const closes of [true, false]) await t.rejects(answeredWith(t, upgrade, closes), Error);
  await t.rejects(answeredWith(t, 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok', true), Error);
});
