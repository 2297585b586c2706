/** Health of real gRPC servers, translated into HTTP terms. */
import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { createServer } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { askGrpcHealth } from '@slipway/gpu-agent/workloads/http/ask-grpc-health';
import type { HealthAnswer } from '@slipway/gpu-agent/workloads/http/ask-health';
import { askHealth } from '@slipway/gpu-agent/workloads/http/ask-health';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { quietPort } from '../../../helpers/net/ports.ts';

const same = (value: Buffer): Buffer => value;
const bytes = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
const Health = {
  check: { path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false, ...bytes },
};

/** Returns a server whose health service answers these bytes; undefined: it has none. */
async function answers(t: Test, said: Buffer | undefined): Promise<HealthAnswer> {
  const server = new Server();
  if (said)
    server.addService(Health, {
      check: (_call: unknown, done: (error: null, answer: Buffer) => void) => done(null, said),
    });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  t.teardown(() => server.forceShutdown());
  return askGrpcHealth({ host: '127.0.0.1', port }, systemClock);
}

t.test('ready, not ready, no health service, no server', async (t) => {
  t.equal(await answers(t, Buffer.from([8, 1])), 200, 'SERVING');
  t.equal(await answers(t, Buffer.from([8, 2])), 503, 'NOT_SERVING');
  t.equal(await answers(t, Buffer.alloc(0)), 503, 'UNKNOWN');
  t.equal(await answers(t, undefined), 200, 'a server without the service');
  const nobody = { host: '127.0.0.1', port: await quietPort(), path: '/ping' };
  t.equal(await askGrpcHealth(nobody, systemClock), 'REFUSED');
  t.equal(await askHealth(nobody, systemClock), 'REFUSED');
});

t.test('a connection closed without an answer differs from a closed port', async (t) => {
  const cutting = await listen(
    t,
    createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('no such protocol\r\n'));
    }),
  );
  t.equal(await askHealth(cutting, systemClock), 'CUT');
  t.equal(await askGrpcHealth(cutting, systemClock), 'CUT');
});

/** How often one that hangs says something, in milliseconds: more often than anybody would count as silence. */
const SAYS_MS = 200;

/** Where a server listens. */
async function listen(t: Test, server: NetServer): Promise<{ host: string; port: number; path: string }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, path: '/ping' };
}

/** Calls it again and again until the connection is over. */
function goOn(over: (work: () => void) => unknown, say: () => void): void {
  let timer = systemClock.after(SAYS_MS, turn);
  function turn(): void {
    say();
    timer = systemClock.after(SAYS_MS, turn);
  }
  over(() => timer.cancel());
}

t.test('a hanging server is not healthy because of an earlier answer', async (t) => {
  const dripping = await listen(
    t,
    createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      goOn(
        (work) => socket.once('close', work),
        () => socket.write('a'),
      );
    }),
  );
  const pinging = createHttp2Server();
  pinging.on('session', (session) => {
    session.on('error', () => undefined);
    goOn(
      (work) => session.once('close', work),
      () => {
        if (!session.destroyed) session.ping(() => undefined);
      },
    );
  });
  pinging.on('stream', (stream) => {
    stream.on('error', () => undefined);
  });
  t.same(await Promise.all([askHealth(dripping, systemClock), askGrpcHealth(await listen(t, pinging), systemClock)]), [
    'SLOW',
    'SLOW',
  ]);
});
