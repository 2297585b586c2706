/** Ports of this machine for tests: one that is taken, and one that a program which knows no port 0 can be given. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import type { Test } from 'tap';
import { portProblem } from '../../deploy/local/ports.ts';

const PORT_MIN = 10_000;
/** Where Linux starts to take ports for outgoing connections when nobody changed it. */
const OUTGOING_MIN = 32_768;

/** Listens on a port until the test ends, as another program would; 0 or none: on any. Answers which. */
export async function occupy(t: Test, port = 0): Promise<number> {
  const server: Server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, resolve);
  });
  t.teardown(() => new Promise<void>((resolve) => { server.close(() => resolve()); }));
  return (server.address() as { port: number }).port;
}

/**
 * A port for a program that must be told one and listens on it later. It stays free: nobody who asks the kernel for any port gets one of
 * these, no outgoing connection has one, and another test hardly draws the same of twenty thousand. Drawn without a seed: two processes, or two runs side
 * by side, that drew the same ports in the same order would meet at each of them.
 */
export async function quietPort(): Promise<number> {
  const end = outgoingMin();
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (end - PORT_MIN));
    if (await portProblem(port) === undefined) return port;
  }
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
