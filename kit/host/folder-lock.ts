/**
 * Lets one process at a time use a folder. The lock is a socket in Linux's abstract namespace, which the kernel frees
 * with the process however that ends; elsewhere there is no lock.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';

/** Another process has the folder. */
export class FolderLockedError extends Error {}

/**
 * Locks an existing folder for one kind of process. Returns the function that unlocks it. Throws FolderLockedError if
 * another process has the lock.
 */
export async function lockFolder(folder: string, kind: string): Promise<() => void> {
  if (process.platform !== 'linux') return () => undefined;
  const path = await addressOf(folder, kind);
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new FolderLockedError(`another ${kind} uses ${folder}`) : error);
    });
    server.listen({ path }, () =>
      resolve(() => {
        server.close();
      }),
    );
  });
}

/** Returns whether a process of this kind has locked the folder, which must exist. */
export async function isFolderLocked(folder: string, kind: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const socket = createConnection({ path: await addressOf(folder, kind) });
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function addressOf(folder: string, kind: string): Promise<string> {
  const name = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 32);
  return `\0slipway-${kind}-${name}`;
}
