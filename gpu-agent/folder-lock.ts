/**
 * Lets one agent at a time use a data folder: a second one would be the same machine twice and take its jobs, its results and its pods. The
 * lock is a socket in Linux's abstract namespace, which the kernel frees with the process however that ends; elsewhere there is no lock.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';

/** Another agent uses the folder. */
export class FolderInUseError extends Error {
  constructor(folder: string) {
    super(`Another agent uses ${folder}. Give this one a folder of its own (SLIPWAY_AGENT_DATA_DIR, or --data-dir), or stop the other.`);
    this.name = 'FolderInUseError';
  }
}

/** Takes the folder, which must exist. Answers what gives it back. FolderInUseError: another agent has it. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  if (process.platform !== 'linux') return async () => undefined;
  const name = createHash('sha256').update(await realpath(folder)).digest('hex').slice(0, 32);
  const server = createServer((socket) => socket.destroy());
  await listen(server, `\0slipway-agent-${name}`, folder);
  server.unref();
  return () => new Promise((resolve) => { server.close(() => resolve()); });
}

function listen(server: Server, path: string, folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'EADDRINUSE' ? new FolderInUseError(folder) : error));
    server.listen({ path }, resolve);
  });
}
