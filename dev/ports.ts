/** TCP ports of this machine. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';

const HOST = '127.0.0.1';

function listen(port: number, host = HOST): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const { port: bound } = server.address() as AddressInfo;
      server.close(() => resolve(bound));
    });
  });
}

/** Returns why a port cannot be used, as a sentence for the user; `undefined` if it is free. */
export async function portProblem(port: number, host = HOST): Promise<string | undefined> {
  try {
    await listen(port, host);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const other = port < 60_000 ? port + 1 : port - 1;
    if (code === 'EADDRINUSE')
      return `Port ${port} is taken by another program. Choose another one: npm start -- --port ${other}`;
    if (code === 'EACCES') return `This user may not use port ${port}. Choose one above 1023: npm start -- --port 8080`;
    return `Port ${port} cannot be used: ${message}`;
  }
}

/**
 * Returns a port that is free right now. Another program may take it a moment later, so its user must be ready to
 * choose another.
 */
export function freePort(): Promise<number> {
  return listen(0);
}

/**
 * Returns the port to try first, so that it stays the same from run to run: the port in the file, else the preferred
 * one. Returns 0 (any port) if both are taken. Like `freePort`, it guarantees nothing.
 */
export async function previousPort(file: string, preferred: number): Promise<number> {
  const previous = existsSync(file) ? Number(readFileSync(file, 'utf8')) : preferred;
  for (const port of [previous, preferred]) {
    if (Number.isInteger(port) && port > 0 && port <= 65_535 && (await portProblem(port)) === undefined) return port;
  }
  return 0;
}

/** Stores the port that was used in the end. */
export function keepPort(file: string, port: number): void {
  writeFileSync(file, `${port}\n`);
}
