/** Reads the state of the database for its problems. */
import { statfs } from 'node:fs/promises';
import type { DatabaseState } from '../domain/reports/database-problem.ts';
import type { Stores } from '../store/storage.ts';

/** Returns the state. `folder`: a folder of the database's disk on this machine; empty: none. */
export async function databaseState(
  problems: Pick<Stores['problems'], 'isReadOnly'>,
  folder: string,
): Promise<DatabaseState> {
  return { readOnly: await problems.isReadOnly(), disk: folder === '' ? undefined : await diskOf(folder) };
}

async function diskOf(folder: string): Promise<DatabaseState['disk']> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { free: bavail * bsize, total: blocks * bsize };
  } catch {
    // The folder cannot be reached at present.
    return undefined;
  }
}
