/** Restores a backup into an empty database, or only checks it. */
import type { Readable } from 'node:stream';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Logger } from '@slipway/kit/log/logger';
import { RestoreError, restoreContents } from '../store/backup/restore-contents.ts';
import type { BackupHead, BackupProgress } from './backup-format.ts';
import { BackupFormatError, BackupReader, decompression } from './backup-format.ts';

interface RestoreOptions {
  /** The secret keys that are there. */
  sealer: Sealer;
  logger: Logger;
  onProgress(progress: BackupProgress): void;
}

/**
 * Restores a backup into the database at a URL. Returns its first line. Throws BackupFormatError if the file is no
 * backup or is damaged, and RestoreError if the secret key is another one, the database is not empty, or the backup is
 * of a newer release. Then nothing was changed.
 */
export async function restore(
  source: Readable,
  databaseUrl: string,
  { sealer, logger, onProgress }: RestoreOptions,
): Promise<BackupHead> {
  return await readBackup(source, async (reader) => {
    const head = await reader.head();
    requireKey(head, sealer);
    await restoreContents(databaseUrl, logger, head.migrations, async (writer) => {
      await writer.sequences(await reader.tables((table, rows) => writer.table(table, rows), onProgress));
    });
    return head;
  });
}

/** Reads a whole backup without a database, and checks that the secret key is its own. Throws as `restore` does. */
export async function checkBackup(
  source: Readable,
  { sealer, onProgress }: Omit<RestoreOptions, 'logger'>,
): Promise<BackupHead> {
  return await readBackup(source, async (reader) => {
    const head = await reader.head();
    requireKey(head, sealer);
    await reader.tables(async (_table, rows) => {
      for await (const _ of rows);
    }, onProgress);
    return head;
  });
}

async function readBackup<Result>(source: Readable, read: (reader: BackupReader) => Promise<Result>): Promise<Result> {
  const plain = decompression();
  source.once('error', (error) => plain.destroy(error));
  source.pipe(plain);
  try {
    return await read(new BackupReader(plain));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && /^Z(STD)?_/.test(code))
      throw new BackupFormatError(`The backup is damaged, or is none of Slipway (${(error as Error).message}).`);
    throw error;
  } finally {
    source.destroy();
    plain.destroy();
  }
}

function requireKey({ secretKeys }: BackupHead, sealer: Sealer): void {
  const own = sealer.fingerprints().map((each) => each.toString('hex'));
  const missing = secretKeys.filter((each) => !own.includes(each));
  if (missing.length > 0)
    throw new RestoreError(
      `The backup needs the secret key with fingerprint ${missing.join(', ')}, and there is ${own.join(', ')}: ` +
        'nothing sealed in it would open. Restore it with the key that core had when the backup was made.',
    );
}
