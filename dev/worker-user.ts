/**
 * Chooses the user as whom the agent of `npm start` runs workers. As root, each account gets its own user, if such
 * a user can reach what a worker needs. Below /root it cannot: there the workers run as root, and the user of npm start
 * is warned.
 */
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ACCOUNT_UID_BASE, runsAsRoot, tryAs } from '@slipway/kit/host/host-user';
import type { Handler } from './handler/handler.ts';

/** The value for SLIPWAY_WORKER_USER. */
interface WorkerUserChoice {
  setting: 'per-account' | 'same';
  /** Warning for the user; `undefined` if there is none. */
  problem: string | undefined;
}

/**
 * Script that checks what workers need: that the data folder can be entered, that the handler, its program and for
 * JavaScript the worker module can be read, and that the program can be executed.
 */
const REACH =
  'cd -- "$1" || exit 1; shift; for file in "$@"; do test -r "$file" || { echo "$file cannot be read" >&2; exit ' +
  '1; }; done; test -x "$1"';

/** Returns the user to run workers as, with a warning if they must run as root. */
export async function chooseWorkerUser(handler: Handler, dataDir: string): Promise<WorkerUserChoice> {
  if (!runsAsRoot()) return { setting: 'same', problem: undefined };
  const program = handler.command[0]!;
  const module =
    extname(handler.file) === '.py'
      ? join(program, '..', '..', 'pyvenv.cfg')
      : fileURLToPath(import.meta.resolve('slipway-worker'));
  const user = { uid: ACCOUNT_UID_BASE, gid: ACCOUNT_UID_BASE };
  const why = await tryAs(user, REACH, dataDir, program, handler.file, module);
  if (why === undefined) return { setting: 'per-account', problem: undefined };
  return {
    setting: 'same',
    problem:
      'Workers run as root and can read all secrets of this machine: as a user of their own they could not run: ' +
      `${why.split('\n')[0]}. Move project, handler and Python out of folders that only root can enter, or run ` +
      'npm start as an ordinary user.',
  };
}
