/** Ports of this machine for tests: one that is taken, and one that a program which knows no port 0 can be given. */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { portProblem } from '@slipway/dev/ports';
import type { Test } from 'tap';
import { claimNumber } from '../time/claim-number.ts';

const PORT_MIN = 10_000;
/** Ports of a range. */
const RANGE = 100;
/** Where Linux starts to take ports for outgoing connections when nobody changed it. */
const OUTGOING_MIN = 32_768;

/** Listens on a port until the test ends, as another program would; 0 or none: on any. Answers which. */
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
 * A port for a program that must be told one and listens on it later. It stays free: nobody who asks the kernel for any
 * port gets one of these, no outgoing connection has one, and each process of tests has a range of its own.
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
