/** Connections of webhooks whose receivers do not read or answer as they should: none is held, and each try ends. */
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { WebhookCaller } from '@slipway/core/singleton-tasks/webhook-caller';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';

const never = new AbortController().signal;

/** Starts a receiver that calls `onCall` with the first bytes of each call. Returns its URL. */
async function receiver(t: Test, onCall: (socket: Socket, begin: Buffer) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', (begin) => onCall(socket, begin));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function callerOf(t: Test) {
  const caller = new WebhookCaller(systemClock);
  t.teardown(() => caller.close());
  const call = { id: 'x', secret: undefined, nowMs: 0, allowPrivate: true, owner: '' };
  return (url: string, body: Buffer) => caller.call({ ...call, url, body }, never);
}

t.test('a receiver that changes the protocol ends the try', async (t) => {
  const url = await receiver(t, (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
  );
  t.match(await callerOf(t)(url, Buffer.from('{}')), /aborted/);
});

t.test('a receiver that sends nothing but 1xx responses is cut off', async (t) => {
  const url = await receiver(t, (socket) => {
    const hints = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50);
    const send = (): void => {
      while (socket.writable && socket.write(hints));
    };
    socket.on('drain', send);
    send();
  });
  t.match(await callerOf(t)(url, Buffer.from('{}')), /more than 100 1xx responses/);
});

t.test('a receiver that answers a call unread holds neither its body nor its connection', async (t) => {
  const unread = Promise.withResolvers<{ socket: Socket; begun: number }>();
  const url = await receiver(t, (socket, begin) => {
    socket.pause().write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    unread.resolve({ socket, begun: begin.length });
  });
  const body = Buffer.alloc(64 * 1024 * 1024);
  t.equal(await callerOf(t)(url, body), undefined, 'its answer counts');
  const { socket, begun } = await unread.promise;
  let bytes = begun;
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  socket.on('data', (piece) => {
    bytes += piece.length;
  });
  socket.resume();
  await closed;
  t.ok(bytes < body.length, 'the rest is not sent');
});
