/**
 * A TCP proxy that drops the bytes of connections without closing them, like a firewall that lost its connection table.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';

interface Connection {
  client: Socket;
  upstream: Socket;
  dropped: boolean;
}

/** Starts a proxy before `target`; it ends with the test. */
export async function silentDropProxy(t: Test, target: { host: string; port: number }) {
  const connections = new Set<Connection>();
  let left = 0;
  const server = createServer((client) => {
    const way: Connection = { client, upstream: connect(target), dropped: false };
    const { upstream } = way;
    connections.add(way);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (part) => {
      if (!way.dropped) upstream.write(part);
    });
    upstream.on('data', (part) => {
      if (!way.dropped) client.write(part);
    });
    client.on('close', () => {
      left += 1;
      if (!way.dropped) upstream.destroy();
    });
    upstream.on('close', () => {
      if (!way.dropped) client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const { client, upstream } of connections) for (const socket of [client, upstream]) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Connections that clients have opened. */
    get opened(): number {
      return connections.size;
    },
    /** Connections that clients have closed. */
    get left(): number {
      return left;
    },
    /** Drops the connection that the target sees from this port. */
    forget: (port: number): void => {
      for (const way of connections) if (way.upstream.localPort === port) way.dropped = true;
    },
    /** Drops all open connections; new ones pass. */
    forgetAll: (): void => {
      for (const way of connections) way.dropped = true;
    },
  };
}
