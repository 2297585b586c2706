/**
 * Lets one process at a time use a folder or a name. The lock is a socket in Linux's abstract namespace, which the
 * kernel frees with the process however that ends; elsewhere there is no lock.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';

/** Another process has the folder or the name. */
export class FolderLockedError extends Error {}

/**
 * Locks an existing folder for one kind of process. Returns the function that unlocks it. Throws FolderLockedError if
 * another process has the lock.
 */
export async function lockFolder(folder: string, kind: string): Promise<() => void> {
  return lockName(process.platform === 'linux' ? await realpath(folder) : folder, kind, folder);
}

/**
 * Locks a name on this host for one kind of process. `shown`: text for the error; default: the name. Returns the
 * function that unlocks it. Throws FolderLockedError if another process has the lock.
 */
export async function lockName(name: string, kind: string, shown = name): Promise<() => void> {
  if (process.platform !== 'linux') return () => undefined;
  const path = addressOf(name, kind);
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new FolderLockedError(`another ${kind} uses ${shown}`) : error);
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
  return process.platform === 'linux' && isNameLocked(await realpath(folder), kind);
}

/** Returns whether a process of this kind has locked the name. */
export async function isNameLocked(name: string, kind: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const socket = createConnection({ path: addressOf(name, kind) });
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function addressOf(name: string, kind: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return `\0slipway-${kind}-${hash}`;
}
