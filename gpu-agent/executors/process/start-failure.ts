/** Describes, for its owner, why a process could not be started. Pure. */
import type { Launch } from '../executor.ts';

/** Linux accepts no single argument or variable of 128 KiB or more, and about 2 MiB in total. */
const TOO_LARGE =
  'its command and environment are larger than the system takes: a single part or variable must be below 128 KiB; ' +
  'put what is large into a file';
/** Error codes that may be about the working directory: the system names the program instead. */
const OF_THE_FOLDER = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES']);

/** Returns the system's error and its meaning. */
export function startFailure(
  error: NodeJS.ErrnoException,
  { user, workingDirectory }: Pick<Launch, 'user' | 'workingDirectory'>,
): string {
  const { code, message } = error;
  if (code === 'E2BIG') return `${TOO_LARGE} (${message})`;
  // As another user the shell changes the directory itself, and reports its errors.
  if (user === undefined && code !== undefined && OF_THE_FOLDER.has(code))
    return `its working directory ${workingDirectory} cannot be used (${message})`;
  return message;
}
