/** Writes a backup of a database to a file or an object of S3, which must be new, or to a stream. */
import { createWriteStream, existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '@slipway/kit/log/logger';
import type { DatabaseFacts } from '../store/backup/backup-contents.ts';
import { readContents } from '../store/backup/backup-contents.ts';
import type { BackupProgress } from './backup-format.ts';
import { compression, writeBackup } from './backup-format.ts';

/** The file is there already. */
export class FileExistsError extends Error {
  constructor(file: string) {
    super(`${file} is there already. Choose another name: a backup never overwrites a file.`);
    this.name = 'FileExistsError';
  }
}

interface BackUpOptions {
  databaseUrl: string;
  /** Version of Slipway. */
  release: string;
  logger: Logger;
  onProgress(progress: BackupProgress): void;
  /** Called when the writing begins. Returns a signal that ends it: what was written so far is removed. */
  whenInterrupted(): AbortSignal;
}

/** An object of a store, which a backup becomes. */
interface BackupObject {
  /** Its name, for messages. */
  address: string;
  /** Returns whether it is there. */
  exists(): Promise<boolean>;
  /** Returns a stream whose content it becomes once the stream has ended, unless it was created meanwhile. */
  sink(): Writable;
}

/**
 * Writes a backup to `file`. The file appears when it is complete and on the disk; an interrupted backup leaves nothing
 * of this name. Returns the facts about what it holds. Throws FileExistsError or NothingToBackUpError.
 */
export async function backUp(file: string, options: BackUpOptions): Promise<DatabaseFacts> {
  if (existsSync(file)) throw new FileExistsError(file);
  const part = `${file}.${process.pid}.part`;
  try {
    const facts = await backUpTo(createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true }), options);
    // A link never replaces a file that was created in the meantime.
    await link(part, file).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? new FileExistsError(file) : error;
    });
    await flushFolder(dirname(file));
    return facts;
  } finally {
    await rm(part, { force: true });
  }
}

/** Writes a backup to an object, which appears when it is complete. Returns and throws as `backUp` does. */
export async function backUpToObject(object: BackupObject, options: BackUpOptions): Promise<DatabaseFacts> {
  if (await object.exists()) throw new FileExistsError(object.address);
  return await backUpTo(object.sink(), options);
}

/** Writes a backup to a stream, which ends with it. */
export async function backUpTo(sink: NodeJS.WritableStream, options: BackUpOptions): Promise<DatabaseFacts> {
  let facts: DatabaseFacts | undefined;
  await readContents(options.databaseUrl, options.logger, async (contents) => {
    facts = contents.facts;
    const source = Readable.from(writeBackup(contents, options.release, options.onProgress), { objectMode: false });
    await pipeline(source, compression(), sink, { signal: options.whenInterrupted() });
  });
  return facts!;
}

/** Waits until the folder's entries are on the disk. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
