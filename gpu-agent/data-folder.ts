/**
 * The agent's data folder. It is created if missing, and used by one agent at a time: a second one would be the same
 * machine twice.
 */
import { chmodSync } from 'node:fs';
import { FolderLockedError, lockFolder, lockName } from '@slipway/kit/host/folder-lock';
import { makeFolder } from '@slipway/kit/host/make-folder';
import { MachineIdError } from './inventory/machine-id.ts';

/** Lock of the id of a machine on this host. */
export const MACHINE_LOCK = 'machine';

/** The folder cannot be used; the text says what to do. */
export class DataFolderError extends Error {}

/**
 * Creates and locks the folder. `passable`: workers that run as other users can reach their files in it. Returns the
 * function that unlocks it. Throws DataFolderError if the folder cannot be created or written, or if another agent has
 * it.
 */
export async function takeDataFolder(folder: string, passable = false): Promise<() => void> {
  try {
    for (const made of makeFolder(folder, 0o700)) if (passable) chmodSync(made, 0o711);
    return await lockFolder(folder, 'agent');
  } catch (error) {
    if (error instanceof FolderLockedError) {
      throw new DataFolderError(
        `Another agent uses ${folder}. Give this agent another folder (SLIPWAY_AGENT_DATA_DIR, or --data-dir), ` +
          'or stop the other.',
      );
    }
    throw new DataFolderError(
      `The data folder ${folder} cannot be used (${(error as Error).message}). Choose another one: ` +
        'SLIPWAY_AGENT_DATA_DIR, or --data-dir.',
    );
  }
}

/**
 * Locks the id of this machine on this host. An agent on a copy of the folder would end the workloads of the agent that
 * runs, and take its machine. Returns the function that unlocks it. Throws DataFolderError if another agent has it.
 */
export async function takeMachineId(id: string, folder: string): Promise<() => void> {
  try {
    return await lockName(id, MACHINE_LOCK);
  } catch (error) {
    if (!(error instanceof FolderLockedError)) throw error;
    throw new DataFolderError(
      `Another agent on this host is machine ${id}: ${folder} was copied from its folder. Give this agent an empty ` +
        'folder (SLIPWAY_AGENT_DATA_DIR, or --data-dir), or stop the other.',
    );
  }
}

/** Advice by the system's error code for a file of the folder. Other errors are not about the data folder. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full: free some space',
  EDQUOT: 'its user has no space left on the disk: free some',
  EROFS: 'its disk is mounted for reading only',
  EIO: 'its disk cannot be read: check the kernel log',
  EACCES:
    'it belongs to another user, perhaps because another user ran an agent here: start this agent as that ' +
    'user, or give it the folder (chown -R)',
  EISDIR: 'no agent has made it so: move it away',
  ENOTDIR: 'no agent has made it so: move it away',
  EEXIST: 'no agent has made it so: move it away',
};

/**
 * Opens the state in the folder. Throws DataFolderError if something in it cannot be used; its content then stays as it
 * is.
 */
export async function openState<Result>(folder: string, open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof MachineIdError) throw new DataFolderError(error.message);
    const { code = '', path, message } = error as NodeJS.ErrnoException;
    const advice = ADVICE[code === 'EPERM' ? 'EACCES' : code];
    if (advice === undefined) throw error;
    throw new DataFolderError(
      `The data folder ${folder} cannot be used: ${path ?? 'a file in it'}: ${advice} (${message}).`,
    );
  }
}
