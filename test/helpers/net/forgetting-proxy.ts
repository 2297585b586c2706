/**
 * A TCP proxy that forgets connections, as a firewall that lost its table: it swallows what either side says and tells
 * neither.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';

interface Way {
  client: Socket;
  upstream: Socket;
  forgotten: boolean;
}

/** Starts one before `target`; it ends with the test. */
export async function forgettingProxy(t: Test, target: { host: string; port: number }) {
  const ways = new Set<Way>();
  let left = 0;
  const server = createServer((client) => {
    const way: Way = { client, upstream: connect(target), forgotten: false };
    const { upstream } = way;
    ways.add(way);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (part) => {
      if (!way.forgotten) upstream.write(part);
    });
    upstream.on('data', (part) => {
      if (!way.forgotten) client.write(part);
    });
    client.on('close', () => {
      left += 1;
      if (!way.forgotten) upstream.destroy();
    });
    upstream.on('close', () => {
      if (!way.forgotten) client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const { client, upstream } of ways) for (const socket of [client, upstream]) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Connections that clients have left. */
    get left(): number {
      return left;
    },
    /** Forgets the one that the target knows by this port. */
    forget: (port: number): void => {
      for (const way of ways) if (way.upstream.localPort === port) way.forgotten = true;
    },
    /** Forgets all that stand; new ones pass. */
    forgetAll: (): void => {
      for (const way of ways) way.forgotten = true;
    },
  };
}
