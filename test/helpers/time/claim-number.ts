/**
 * Claims numbers that no other test process on the machine has at the same time, for instance for ports and addresses.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns a number from 0 up to, but excluding, `count`, which no other process has under this name while this process
 * lives. It is claimed by a socket's name, which the kernel frees when the process ends. Each process starts its search
 * at another number, so that leftovers of one do not affect the next.
 */
export async function claimNumber(name: string, count: number): Promise<number> {
  for (let tries = 0; tries < count; tries += 1) {
    const number = (process.pid + tries) % count;
    const server = createServer((socket) => socket.destroy()).unref();
    try {
      await once(server.listen({ path: `\0slipway-test-${name}-${number}`, exclusive: true }), 'listening');
      return number;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  throw new Error(`all ${count} ${name} are taken`);
}
