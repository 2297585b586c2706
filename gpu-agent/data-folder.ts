/** The agent's data folder: made when it is missing, and used by one agent at a time. A second one would be the same machine twice. */
import { chmodSync } from 'node:fs';
import { FolderLockedError, lockFolder } from '../core/runtime/folder-lock.ts';
import { makeFolder } from '../core/runtime/make-folder.ts';

/** The folder cannot be used; the text says what to do. */
export class DataFolderError extends Error {}

/**
 * Makes and takes it; `passable`: workers that run as other users can reach what is theirs in it. Answers what gives it back. DataFolderError: it
 * cannot be made or written, or another agent has it.
 */
export async function takeDataFolder(folder: string, passable = false): Promise<() => void> {
  try {
    for (const made of makeFolder(folder, 0o700)) if (passable) chmodSync(made, 0o711);
    return await lockFolder(folder, 'agent');
  } catch (error) {
    if (error instanceof FolderLockedError) {
      throw new DataFolderError(
        `Another agent uses ${folder}. Give this one a folder of its own (SLIPWAY_AGENT_DATA_DIR, or --data-dir), or stop the other.`,
      );
    }
    throw new DataFolderError(
      `The data folder ${folder} cannot be used (${(error as Error).message}). Choose another one: SLIPWAY_AGENT_DATA_DIR, or --data-dir.`,
    );
  }
}
