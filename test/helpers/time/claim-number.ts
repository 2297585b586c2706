/**
 * Numbers that no two tests of a machine have at the same time, whatever processes they run in: of ports and addresses,
 * for instance.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A number from 0 up to, and without, `count`, which nobody else has under this name while this process lives. It is
 * held by the name of a socket, which the kernel frees with the process however that ends. It begins at another number
 * in each process: what one leaves behind does not meet the next.
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
