/** Hashes the content of a model's file the way its digest was made. */
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ModelFile } from './model-record.ts';

const SHA256_DIGITS = 64;
/** Bytes of a file that are hashed at once: few enough that the event loop stays free. */
const READ_BYTES = 256 * 1024;

/** Begins the hash of a file whose digest has this form. */
export function beginHash({ digest, sizeBytes }: Pick<ModelFile, 'digest' | 'sizeBytes'>): Hash {
  if (digest.length === SHA256_DIGITS) return createHash('sha256');
  return createHash('sha1').update(`blob ${sizeBytes}\0`);
}

/** Adds the content of a file to a hash. Returns its length in bytes; 0 if there is no such file. */
export async function hashFile(path: string, hash: Hash, signal?: AbortSignal): Promise<number> {
  let bytes = 0;
  try {
    for await (const part of createReadStream(path, { highWaterMark: READ_BYTES, signal })) {
      hash.update(part as Buffer);
      bytes += (part as Buffer).length;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return bytes;
}
