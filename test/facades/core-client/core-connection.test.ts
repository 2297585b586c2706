/**
 * A connection to core that brings no answer: a dead one is replaced; one to a slow core is kept, and so is one to a
 * paused core. Time runs faster.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { Client } from '@grpc/grpc-js';
import { CoreConnection } from '@slipway/facades/core-client/core-connection';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { silentDropProxy } from '../../helpers/net/silent-drop-proxy.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const TIMES = 10;
/** How long a sign of life is waited for, in milliseconds. */
const SIGN_MS = 1_500;

/** Returns a connection to an address, with a call that always waits on it. */
function waitingLine(t: Test, address: string) {
  const seen = { opened: 0, asked: 0, died: 0 };
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() * TIMES,
    after: (ms, fn) => {
      if (ms === SIGN_MS) seen.asked += 1;
      return systemClock.after(ms / TIMES, fn);
    },
  };
  const line = new CoreConnection({
    clock,
    open: () => {
      seen.opened += 1;
      return systemTransport.openClient(Client, address);
    },
  });
  line.use({
    isWaiting: () => true,
    onDead: () => {
      seen.died += 1;
    },
  });
  t.teardown(() => line.close());
  return { line, seen };
}

async function listening(t: Test): Promise<string> {
  const server = openServer([]);
  t.teardown(() => server.forceShutdown());
  return `127.0.0.1:${await systemTransport.listen(server, '127.0.0.1:0')}`;
}

t.test('an unresponsive but living core keeps its connection', async (t) => {
  const { line, seen } = waitingLine(t, await listening(t));
  const { client } = line;
  await waitFor('three questions', () => seen.asked >= 3);
  // On a busy machine an answer may come after its time. Then another connection is opened, but not taken.
  t.equal(line.client, client);
  t.equal(seen.died, 0);
});

t.test('a lost connection is replaced, once', async (t) => {
  const [host, port] = (await listening(t)).split(':');
  const proxy = await silentDropProxy(t, { host: host!, port: Number(port) });
  const { line, seen } = waitingLine(t, `127.0.0.1:${proxy.port}`);
  // A question is counted before its connection is open, and there is nothing to forget before.
  await waitFor('a question and its connection', () => seen.asked > 0 && proxy.opened > 0);
  proxy.forgetAll();
  await waitFor('another connection', () => seen.died > 0);
  const { asked } = seen;
  const { client } = line;
  await waitFor('signs of life on it', () => seen.asked >= asked + 3);
  t.equal(seen.died, 1);
  t.equal(line.client, client);
});

t.test('a stopped core keeps its connection', async (t) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { line, seen } = waitingLine(t, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  const { client } = line;
  await waitFor('questions by other connections', () => seen.opened >= 3);
  t.equal(line.client, client);
  t.equal(seen.died, 0);
});
