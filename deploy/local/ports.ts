/** TCP ports of this machine. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';

function listen(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: HOST, exclusive: true }, () => {
      const { port: bound } = server.address() as AddressInfo;
      server.close(() => resolve(bound));
    });
  });
}

/** Why a port cannot be used, as a sentence for the user; undefined when it is free. */
export async function portProblem(port: number): Promise<string | undefined> {
  try {
    await listen(port);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const other = port < 60_000 ? port + 1 : port - 1;
    if (code === 'EADDRINUSE') return `Port ${port} is taken by another program. Choose another one: npm start -- --port ${other}`;
    if (code === 'EACCES') return `This user may not use port ${port}. Choose one above 1023: npm start -- --port 8080`;
    return `Port ${port} cannot be used: ${message}`;
  }
}

/** A port that is free right now. */
export function freePort(): Promise<number> {
  return listen(0);
}
