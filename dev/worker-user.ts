/**
 * As whom the agent of `npm start` runs workers. As root each account gets a user of its own, if such a user can reach
 * what a worker needs: not so below /root, where the workers stay root's and the user is told.
 */
import { extname, join } from 'node:path';
import { ACCOUNT_UID_BASE, runsAsRoot, tryAs } from '@slipway/kit/host/host-user';
import type { Handler } from './handler/handler.ts';

/** The value for SLIPWAY_WORKER_USER. */
export interface WorkerUserChoice {
  setting: 'per-account' | 'same';
  /** What the user should know about it. */
  problem: string | undefined;
}

/**
 * What workers need: the data folder to pass through, the handler, its program, and for JavaScript the worker module.
 */
const REACH =
  'cd -- "$1" || exit 1; shift; for file in "$@"; do test -r "$file" || { echo "$file cannot be read" >&2; exit 1; }; done; test -x "$1"';

/** Chooses. */
export async function chooseWorkerUser(handler: Handler, dataDir: string, root: string): Promise<WorkerUserChoice> {
  if (!runsAsRoot()) return { setting: 'same', problem: undefined };
  const program = handler.command[0]!;
  const module =
    extname(handler.file) === '.py' ? join(program, '..', '..', 'pyvenv.cfg') : join(root, 'worker', 'worker.ts');
  const user = { uid: ACCOUNT_UID_BASE, gid: ACCOUNT_UID_BASE };
  const why = await tryAs(user, REACH, dataDir, program, handler.file, module);
  if (why === undefined) return { setting: 'per-account', problem: undefined };
  return {
    setting: 'same',
    problem:
      `Workers run as root and can read all secrets of this machine: as a user of their own they could not run: ${why.split('\n')[0]}. ` +
      'Move project, handler and Python out of folders that only root can enter, or run npm start as an ordinary user.',
  };
}
