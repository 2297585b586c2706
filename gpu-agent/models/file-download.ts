/**
 * Downloads the content of one file. Continues the part that an earlier try left. Gives the file its name only after
 * the digest was verified.
 */
import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { open, rm } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import { beginHash, hashFile } from './file-hash.ts';
import type { FileSource } from './file-source.ts';
import { leave } from './http-get.ts';
import { ModelError } from './model-error.ts';
import type { ModelFolder } from './model-folder.ts';
import type { ModelFile } from './model-record.ts';

/** A content to download. */
interface WantedFile {
  file: ModelFile;
  folder: ModelFolder;
  /** Reports how many bytes of it are there. */
  onBytes(bytes: number): void;
  /** Called for each piece that arrives, with its bytes. */
  onReceived(bytes: number): void;
  clock: Clock;
  /** Time in milliseconds within which a connection brings at least PACE_BYTES_MIN. */
  paceMs: number;
  signal: AbortSignal;
}

/** Least bytes that a connection must bring within that time. A slower one is closed: another one may be faster. */
export const PACE_BYTES_MIN = 64 * 1024;

/** A connection was closed because it brought too few bytes. Such a try does not count as progress. */
export class TrickleError extends Error {}

/**
 * Reads the content from a source once. Resolves when it is complete. Rejects with the source's error, and keeps what
 * has arrived for the next try. Rejects with a ModelError (CORRUPT) if the source sent other content, and drops it.
 */
export async function downloadFile(wanted: WantedFile, source: FileSource): Promise<void> {
  const { file, folder, onBytes, signal } = wanted;
  const path = folder.incomplete(file.digest);
  let hash = beginHash(file);
  let position = await hashFile(path, hash, signal);
  if (position > file.sizeBytes) {
    await rm(path, { force: true });
    [hash, position] = [beginHash(file), 0];
  }
  onBytes(position);
  if (position < file.sizeBytes || file.sizeBytes === 0)
    ({ hash, position } = await receive(wanted, source, { hash, position }));
  const isRight = position === file.sizeBytes && hash.digest('hex') === file.digest;
  if (isRight) return folder.complete(file.digest);
  await rm(path, { force: true });
  onBytes(0);
  throw new ModelError(
    'CORRUPT',
    `${file.path} of ${folder.key.repository} differs from its digest as ${source.name} sends it`,
  );
}

/** Bytes of a file that have arrived, and their hash. */
interface Arrived {
  hash: Hash;
  /** Bytes. */
  position: number;
}

async function receive(
  { file, folder, onBytes, onReceived, clock, paceMs, signal }: WantedFile,
  source: FileSource,
  arrived: Arrived,
): Promise<Arrived> {
  const { repository, commit } = folder.key;
  const { body, offset } = await source.open(repository, commit, file, arrived.position, signal);
  let { hash, position } = arrived;
  const handle = await open(folder.incomplete(file.digest), position === 0 || offset === 0 ? 'w' : 'r+', 0o644).catch(
    (error: unknown) => {
      leave(body);
      throw error;
    },
  );
  try {
    // The source does not support ranges and begins anew.
    if (offset === 0 && position > 0) [hash, position] = [beginHash(file), 0];
    let window = { sinceMs: clock.monotonicMs(), from: position };
    for await (const part of body as AsyncIterable<Buffer>) {
      onReceived(part.length);
      // More bytes than announced are another content, and must not fill the disk.
      if (position + part.length > file.sizeBytes) return { hash, position: position + part.length };
      hash.update(part);
      await writeAll(handle, part, position);
      position += part.length;
      onBytes(position);
      const nowMs = clock.monotonicMs();
      if (nowMs - window.sinceMs < paceMs) continue;
      if (position < file.sizeBytes && position - window.from < PACE_BYTES_MIN)
        throw new TrickleError(`${source.name} sent less than ${PACE_BYTES_MIN / 1024} KiB in ${paceMs / 1_000} s`);
      window = { sinceMs: nowMs, from: position };
    }
    if (position < file.sizeBytes) throw new Error(`${source.name} ended the connection`);
    return { hash, position };
  } finally {
    leave(body);
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, part: Buffer, position: number): Promise<void> {
  for (let done = 0; done < part.length; ) {
    const { bytesWritten } = await handle.write(part, done, part.length - done, position + done);
    done += bytesWritten;
  }
}
