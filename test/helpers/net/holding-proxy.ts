/**
 * A TCP proxy that holds back a client's message, or what the server answers to it. All other connections pass.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';

/** Starts a proxy before `target`. It ends with the test. */
export async function holdingProxy(t: Test, target: { host: string; port: number }) {
  const sockets = new Set<Socket>();
  let wanted: { text: string; what: 'MESSAGE' | 'ANSWER' } | undefined;
  let held: { to: Socket; parts: Buffer[] } | undefined;
  const pass = (part: Buffer, to: Socket): void => {
    if (held?.to === to) held.parts.push(part);
    else to.write(part);
  };
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      const other = socket === client ? upstream : client;
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (part: Buffer) => {
      if (wanted !== undefined && part.includes(wanted.text)) {
        held = { to: wanted.what === 'MESSAGE' ? upstream : client, parts: [] };
        wanted = undefined;
      }
      pass(part, upstream);
    });
    upstream.on('data', (part: Buffer) => pass(part, client));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** True while it holds something back. */
    get holds(): boolean {
      return (held?.parts.length ?? 0) > 0;
    },
    /** Holds back the next message with this text and all that the client sends after it, or all that is answered. */
    hold: (text: string, what: 'MESSAGE' | 'ANSWER'): void => {
      wanted = { text, what };
    },
    /** Breaks the connection on which something is held back, which is lost. */
    cut: (): void => {
      held!.to.resetAndDestroy();
      held = undefined;
    },
    /** Passes on what was held back. */
    release: (): void => {
      const { to, parts } = held!;
      held = undefined;
      for (const part of parts) to.write(part);
    },
  };
}
