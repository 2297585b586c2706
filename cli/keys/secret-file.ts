/** Creates a file for a key that only its owner can read. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { UsageError } from '../failures.ts';

/** An open, empty file. */
interface SecretFile {
  path: string;
  /** Writes the key and closes the file. */
  write(secret: string): void;
  /** Removes the file. */
  drop(): void;
}

/** Opens it; UsageError: it exists already or cannot be written. */
export function openSecretFile(path: string): SecretFile {
  const file = open(path);
  return {
    path,
    write: (secret) => {
      writeSync(file, `${secret}\n`);
      fsyncSync(file);
      closeSync(file);
    },
    drop: () => {
      closeSync(file);
      rmSync(path, { force: true });
    },
  };
}

function open(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new UsageError(`${path} exists already; name another file.`);
    throw new UsageError(`${path} cannot be written (${code}).`);
  }
}
