/** Why a process could not be started, for its owner. Pure. */
import type { Launch } from '../executor.ts';

/** Linux takes no single argument or variable of 128 KiB, and of all together about 2 MiB. */
const TOO_LARGE =
  'its command and environment are larger than the system takes: a single part or variable must be below 128 KiB; ' +
  'put what is large into a file';
/** Errors of the directory that it should start in: the system names the program instead. */
const OF_THE_FOLDER = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES']);

/** What the system said of it, and what that means. */
export function startFailure(
  error: NodeJS.ErrnoException,
  { user, workingDirectory }: Pick<Launch, 'user' | 'workingDirectory'>,
): string {
  const { code, message } = error;
  if (code === 'E2BIG') return `${TOO_LARGE} (${message})`;
  // As another user the shell goes there, and says itself what is wrong with it.
  if (user === undefined && code !== undefined && OF_THE_FOLDER.has(code))
    return `its working directory ${workingDirectory} cannot be used (${message})`;
  return message;
}
