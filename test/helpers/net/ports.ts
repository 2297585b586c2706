/** Provides ports for tests: a port that is in use, and a free port for programs that do not accept port 0. */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { portProblem } from '@slipway/dev/ports';
import type { Test } from 'tap';
import { claimNumber } from '../time/claim-number.ts';

const PORT_MIN = 10_000;
/** Ports of a range. */
const RANGE = 100;
/** First port that Linux uses for outgoing connections by default. */
const OUTGOING_MIN = 32_768;

/** Listens on a port until the test ends, as another program would. Default: 0, any port. Returns the port. */
export async function occupy(t: Test, port = 0): Promise<number> {
  const server: Server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
      }),
  );
  return (server.address() as { port: number }).port;
}

/** Ports that this process may still give away. */
let free: Iterator<number> | undefined;

/**
 * Returns a port for a program that needs its port in advance and listens on it later. The port stays free: the kernel
 * gives none of these to programs that ask for any port or to outgoing connections, and each process of tests has its
 * own range.
 */
export async function quietPort(): Promise<number> {
  for (;;) {
    free ??= await takeRange();
    const { value: port, done } = free.next();
    if (done) free = undefined;
    else if ((await portProblem(port)) === undefined) return port;
  }
}

async function takeRange(): Promise<Iterator<number>> {
  const first = PORT_MIN + RANGE * (await claimNumber('ports', Math.floor((outgoingMin() - PORT_MIN) / RANGE)));
  return Array.from({ length: RANGE }, (_, index) => first + index).values();
}

function outgoingMin(): number {
  try {
    const first = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
    // A machine whose range begins lower has no such ports; then any will have to do.
    return first > PORT_MIN + 1_000 ? first : OUTGOING_MIN;
  } catch {
    return OUTGOING_MIN;
  }
}
