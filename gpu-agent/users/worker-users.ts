/**
 * Decides which user of this host runs the workers and pods of an account. Creates the folders of this user: a home
 * that outlives workers, where caches and models stay, and a folder for temporary files, which is emptied when the
 * agent starts.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot, tryAs } from '@slipway/kit/host/host-user';
import type { Logger } from '@slipway/kit/log/logger';
import { dropFolder, giveFolder } from './given-folder.ts';
import type { WorkerUserSetting } from './worker-user-setting.ts';

const run = promisify(execFile);
/** Other users may pass through, but not list it. */
const PASSABLE = 0o711;

/** Workers cannot be run as configured; the text says what to do. */
export class WorkerUserError extends Error {}

/** A user of workers with its folders. */
export interface WorkerUser extends HostUser {
  /** Value of USER and LOGNAME. */
  name: string;
  home: string;
  tmp: string;
}

export class WorkerUsers {
  readonly #setting: WorkerUserSetting;
  readonly #folder: string;
  readonly #logger: Logger;
  #one: (HostUser & { name: string }) | undefined;

  /** Homes are in `<dataDir>/users`. */
  constructor(setting: WorkerUserSetting, dataDir: string, logger: Logger) {
    // Only root can start a process as another user.
    this.#setting = runsAsRoot() ? setting : { kind: 'same' };
    this.#folder = join(dataDir, 'users');
    this.#logger = logger;
    if (setting.kind !== this.#setting.kind && !isOneself(setting)) {
      logger.warn(
        { asked: setting },
        "workers run as the agent's own user: only an agent that runs as root can give them another",
      );
    }
  }

  /** True if workers run as another user than the agent. */
  get differ(): boolean {
    return this.#setting.kind !== 'same';
  }

  /**
   * Checks that workers can be run as configured, makes these folders of the agent passable, and empties folders of
   * temporary files. Throws WorkerUserError if they cannot.
   */
  async open(dataDir: string, passable: readonly string[]): Promise<void> {
    if (!this.differ) return;
    this.#one = await namedUser(this.#setting);
    for (const folder of [dataDir, this.#folder, ...passable]) await openFolder(folder);
    const probe = this.#one ?? this.#ofAccount(0);
    const failure = await tryAs(probe, 'cd -- "$1"', this.#folder);
    if (failure !== undefined) {
      throw new WorkerUserError(
        `Workers cannot run as user ${probe.uid} in ${dataDir} (${failure}). Choose a data folder that all users ` +
          'can reach, such as /var/lib/slipway-agent: SLIPWAY_AGENT_DATA_DIR, or --data-dir.',
      );
    }
    for (const name of await readdir(this.#folder)) {
      await dropFolder(join(this.#folder, name, 'tmp')).catch((error: unknown) =>
        this.#logger.warn({ err: error }, 'temporary files were not removed'),
      );
    }
    this.#logger.info({ as: this.#setting }, 'workers run as users of their own');
  }

  /**
   * Returns the user of an account, after creating its folders; `undefined` for the agent's own user. Fails if core
   * gave no account number.
   */
  async of(accountNumber: number): Promise<WorkerUser | undefined> {
    if (!this.differ) return undefined;
    if (!this.#one && accountNumber <= 0)
      throw new Error("core did not say which account it belongs to: bring core to the agent's release");
    const user = this.#one ?? this.#ofAccount(accountNumber);
    const folder = join(this.#folder, String(user.uid));
    await openFolder(folder);
    const [home, tmp] = [join(folder, 'home'), join(folder, 'tmp')];
    await giveFolder(home, user);
    await giveFolder(tmp, user);
    return { ...user, home, tmp };
  }

  #ofAccount(accountNumber: number): HostUser & { name: string } {
    const { base } = this.#setting as Extract<WorkerUserSetting, { kind: 'per-account' }>;
    return { uid: base + accountNumber, gid: base + accountNumber, name: `account-${accountNumber}` };
  }
}

/** Returns the host's variables for processes of a user. Those of the agent's own user are replaced. */
export function hostEnvOf(
  hostEnv: Readonly<Record<string, string>>,
  user: WorkerUser | undefined,
): Record<string, string> {
  if (!user) return { ...hostEnv };
  const { XDG_CACHE_HOME: _, ...shared } = hostEnv;
  return { ...shared, HOME: user.home, USER: user.name, LOGNAME: user.name, SHELL: '/bin/sh', TMPDIR: user.tmp };
}

async function openFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, PASSABLE);
}

/** Returns the single user of all accounts, if there is one. */
async function namedUser(setting: WorkerUserSetting): Promise<(HostUser & { name: string }) | undefined> {
  if (setting.kind === 'numbered') return { uid: setting.uid, gid: setting.gid, name: `user-${setting.uid}` };
  if (setting.kind !== 'named') return undefined;
  const { name } = setting;
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    if (Number(uid.stdout) === 0) throw new Error('it is root');
    return { uid: Number(uid.stdout), gid: Number(gid.stdout), name };
  } catch (error) {
    throw new WorkerUserError(
      `Workers cannot run as ${name} (${(error as Error).message.trim().split('\n').at(-1)}). ` +
        `Make it (useradd --system ${name}), or use per-account: SLIPWAY_WORKER_USER, or --worker-user.`,
    );
  }
}

function isOneself(setting: WorkerUserSetting): boolean {
  if (setting.kind === 'numbered') return setting.uid === process.getuid?.();
  return setting.kind === 'named' && setting.name === ownName();
}

/**
 * Returns the name of this process's user; `undefined` if it has no entry in /etc/passwd, as is usual in containers.
 */
function ownName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
