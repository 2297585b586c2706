/** A TCP proxy that cuts open connections at once, or new ones after a given number of bytes from the server. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Test } from 'tap';

/** Kind of a cut. RESET breaks the connection. END closes it in order, as a server does that shuts down. */
export type CutKind = 'RESET' | 'END';

export type CuttingProxy = Awaited<ReturnType<typeof cuttingProxy>>;

/** Starts a proxy before `target`, at an address of this host. It ends with the test. */
export async function cuttingProxy(t: Test, target: { host: string; port: number }, address = '127.0.0.1') {
  const open = new Set<[Socket, Socket]>();
  /** Cuts planned for new connections: each happens after `bytes` bytes from the server. */
  const planned: { bytes: number; kind: CutKind }[] = [];
  /** Cut planned for the connection on which the client sends `sent` and the server then `answer`. */
  let lost: { sent: string; answer: string } | undefined;
  let cuts = 0;
  const cutPair = (pair: [Socket, Socket], kind: CutKind): void => {
    if (!open.delete(pair)) return;
    cuts += 1;
    for (const socket of pair) {
      if (kind === 'RESET') socket.resetAndDestroy();
      else socket.end(() => socket.destroy());
    }
  };
  const server = createServer((client) => {
    const plan = planned.shift();
    const upstream = connect(target);
    const pair: [Socket, Socket] = [client, upstream];
    open.add(pair);
    let said = 0;
    let hasSent = false;
    for (const socket of pair) {
      const other = socket === client ? upstream : client;
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(pair);
        other.destroy();
      });
    }
    client.on('data', (part: Buffer) => {
      if (!open.has(pair)) return;
      hasSent ||= lost !== undefined && part.includes(lost.sent);
      upstream.write(part);
    });
    upstream.on('data', (part: Buffer) => {
      if (!open.has(pair)) return;
      if (hasSent && lost !== undefined && part.includes(lost.answer)) {
        lost = undefined;
        return cutPair(pair, 'RESET');
      }
      said += part.length;
      if (plan === undefined || said < plan.bytes) client.write(part);
      else {
        client.write(part.subarray(0, part.length - (said - plan.bytes)));
        cutPair(pair, plan.kind);
      }
    });
    if (plan?.bytes === 0) cutPair(pair, plan.kind);
  });
  server.listen(0, address);
  await once(server, 'listening');
  t.teardown(() => {
    for (const pair of open) for (const socket of pair) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Number of connections that are open. */
    get open(): number {
      return open.size;
    },
    /** Number of connections that were cut. */
    get cuts(): number {
      return cuts;
    },
    /** Cuts one open connection; `which`, from 0 to 1, selects it. */
    cut: (which: number, kind: CutKind): void => {
      const pair = [...open][Math.floor(which * open.size)];
      if (pair) cutPair(pair, kind);
    },
    /** Cuts a future connection once the server has sent it this many bytes; 0 = before the first byte. */
    cutNext: (bytes: number, kind: CutKind): void => {
      planned.push({ bytes, kind });
    },
    /**
     * Cuts the connection on which the client sends `sent` and the server then `answer`, which the client does not get.
     */
    loseAnswer: (sent: string, answer: string): void => {
      lost = { sent, answer };
    },
    /** Drops all planned cuts. */
    calm: (): void => {
      lost = undefined;
      planned.length = 0;
    },
  };
}
