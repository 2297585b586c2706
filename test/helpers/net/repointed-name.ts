/** An address that leads to one server and later to another, like a Service of Kubernetes. Open connections stay. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';

/** Starts it. `target`: host:port. */
export async function repointedName(t: Test, target: string) {
  let current = target;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const [host, port] = current.split(':');
    const upstream = connect(Number(port), host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return {
    /** host:port. */
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Leads new connections to another server. */
    point: (to: string): void => {
      current = to;
    },
  };
}
