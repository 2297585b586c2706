/** TCP ports of this machine. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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

/**
 * A port that stays the same from run to run as long as it is free: the one in the file, else the wished one, else any. The choice is
 * kept in the file.
 */
export async function stickyPort(file: string, wished: number): Promise<number> {
  const kept = existsSync(file) ? Number(readFileSync(file, 'utf8')) : wished;
  for (const port of [kept, wished]) {
    if (Number.isInteger(port) && port > 0 && await portProblem(port) === undefined) return keep(file, port);
  }
  return keep(file, await freePort());
}

function keep(file: string, port: number): number {
  writeFileSync(file, `${port}\n`);
  return port;
}
