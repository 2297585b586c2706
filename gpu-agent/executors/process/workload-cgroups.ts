/**
 * Control groups of workloads that are processes of this host. The kernel keeps everything that a workload starts in
 * its group, whatever its session, parent or environment. So nothing is missed at its end, nor by the next run of an
 * agent that was killed together with its guards. The groups lie below the agent's own group, where the limits of its
 * service apply to them too. They need an agent that may make groups: as root, on Linux, and not in most containers.
 */
import type { Dirent } from 'node:fs';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { ifGone, isOutOfDescriptors, READ_AGAIN_MS, readAgain, UNREAD_MS_MAX } from '../descriptors.ts';
import { sendSignal } from './send-signal.ts';

/**
 * Pause between two scans in milliseconds, and most scans: a process that starts others faster than they end is an
 * attacker's.
 */
const POLL_MS = 5;
const POLLS_MAX = 200;
/** Hierarchies of version 1 that are used if there is no version 2, in order of preference. */
const TRACKING = ['pids', 'freezer', 'name=systemd'];
/**
 * Levels of groups below a mount that are searched for those of a previous run: groups of services and containers are
 * less deep.
 */
const DEPTH_MAX = 8;
const PREFIX = 'slipway-';

/** A mounted hierarchy, and the agent's own group in it. */
interface Hierarchy {
  mount: string;
  own: string;
  isV2: boolean;
  controllers: readonly string[];
}

/** The group of one start of a workload. */
export class WorkloadCgroup {
  readonly #folders: readonly string[];
  readonly #clock: Clock;

  /** `folders`: its group in each hierarchy; the first lists all of its processes. */
  constructor(folders: readonly string[], clock: Clock) {
    this.#folders = folders;
    this.#clock = clock;
  }

  /** Sends SIGKILL to all processes that are in it now. Returns false if the agent has no free file descriptor. */
  kill(): boolean {
    const [folder] = this.#folders;
    try {
      writeFileSync(join(folder!, 'cgroup.kill'), '1');
    } catch (error) {
      if (isOutOfDescriptors(error)) return false;
      return this.#killEach();
    }
    return true;
  }

  /** Kernels before 5.14, and version 1, have no `cgroup.kill`. */
  #killEach(): boolean {
    try {
      for (const pid of this.pids) sendSignal(pid, 'SIGKILL');
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Returns how many of its processes were ended because memory ran out. 0 if none, or if this kernel does not count
   * them. Reads before it returns, and again for 2 s while the agent has no free file descriptor. Rejects if it still
   * has none then.
   */
  oomKills(): Promise<number> {
    return readAgain(this.#clock, async () => {
      const counts = this.#folders.flatMap((folder) =>
        ['memory.events', 'memory.oom_control'].map((name) => oomKillsIn(join(folder, name))),
      );
      return Math.max(0, ...counts);
    });
  }

  /** Processes that are in it now. Throws without a free file descriptor: an empty group would look like its end. */
  get pids(): number[] {
    return processesIn(this.#folders[0]!);
  }

  /** Ends all of its processes and removes the group. Never rejects. */
  async end(): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + UNREAD_MS_MAX;
    for (let polls = 0; polls < POLLS_MAX; ) {
      // The kernel removes no group that has processes.
      if (this.#remove()) return;
      const isRead = this.kill();
      if (isRead) polls += 1;
      else if (this.#clock.monotonicMs() >= untilMs) return;
      await delay(this.#clock, isRead ? POLL_MS : READ_AGAIN_MS);
    }
  }

  /** Returns false if a process in it has not ended yet. */
  #remove(): boolean {
    for (const folder of this.#folders) {
      try {
        rmdirSync(folder);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false;
      }
      removeEmpty(dirname(folder));
    }
    return true;
  }
}

export class WorkloadCgroups {
  readonly #machineId: () => string;
  readonly #clock: Clock;
  #hierarchies: Hierarchy[];
  #made = 0;

  /**
   * `machineId`: names the groups of this machine's agents. `hierarchies`: default: this host's; if empty, there
   * are no groups.
   */
  constructor(machineId: () => string, clock: Clock, hierarchies: readonly Hierarchy[] = readHierarchies()) {
    this.#machineId = machineId;
    this.#clock = clock;
    const tracking =
      hierarchies.find(({ isV2 }) => isV2) ??
      TRACKING.flatMap((name) => hierarchies.filter(({ controllers }) => controllers.includes(name)))[0];
    const memory = hierarchies.find(({ isV2, controllers }) => !isV2 && controllers.includes('memory'));
    this.#hierarchies = tracking ? [tracking, ...(memory && memory !== tracking ? [memory] : [])] : [];
  }

  /**
   * Puts a process that has started nothing yet into its own group. Returns `undefined` if this agent may not make
   * groups.
   */
  take(pid: number, workloadId: string): WorkloadCgroup | undefined {
    this.#made += 1;
    const folders: string[] = [];
    for (const { own } of this.#hierarchies) {
      const folder = join(own, `${PREFIX}${this.#machineId()}`, `${workloadId}.${process.pid}.${this.#made}`);
      try {
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, 'cgroup.procs'), String(pid));
        folders.push(folder);
      } catch {
        removeEmpty(folder);
        // Without the first group its processes cannot be found.
        if (folders.length === 0) return undefined;
      }
    }
    return folders.length > 0 ? new WorkloadCgroup(folders, this.#clock) : undefined;
  }

  /**
   * Ends all processes in groups of previous runs of this machine's agent, wherever it ran, and removes the groups.
   * Returns how many groups still had processes. Rejects if the agent has no free file descriptor for 2 s.
   */
  async sweep(): Promise<number> {
    let ended = 0;
    for (const { mount } of this.#hierarchies) {
      for (const parent of await this.#read(() => find(mount, `${PREFIX}${this.#machineId()}`))) {
        for (const folder of await this.#read(() => foldersIn(parent))) {
          const pids = await this.#read(async () => processesIn(folder));
          if (pids.length > 0) ended += 1;
          await new WorkloadCgroup([folder], this.#clock).end();
        }
        removeEmpty(parent);
      }
    }
    return ended;
  }

  #read<List>(read: () => Promise<List>): Promise<List> {
    return readAgain(this.#clock, read);
  }
}

/** Reads the hierarchies of this host and the group of this process in each. Empty on systems other than Linux. */
export function readHierarchies(): Hierarchy[] {
  const own = readLines('/proc/self/cgroup')
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .flatMap((match) => match ?? []);
  const groups = new Map<string, string>();
  for (let index = 0; index < own.length; index += 3) groups.set(own[index + 1]!, own[index + 2]!);
  return readLines('/proc/self/mountinfo').flatMap((line) => {
    const [, root, mount, type, options = ''] = /^\S+ \S+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    if (root === undefined || mount === undefined) return [];
    const isV2 = type === 'cgroup2';
    const controllers = options.split(',').filter((name) => name !== 'rw' && name !== 'ro');
    const key = isV2
      ? ''
      : [...groups.keys()].find((names) => names !== '' && names.split(',').some((name) => controllers.includes(name)));
    const group = key === undefined ? undefined : groups.get(key);
    if (group === undefined) return [];
    const below = root !== '/' && group.startsWith(root) ? group.slice(root.length) : group;
    const folder = join(mount, below);
    return existsSync(join(folder, 'cgroup.procs')) ? [{ mount, own: folder, isV2, controllers }] : [];
  });
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder is not empty.
  }
}

/** Returns the lines of a file; none if it is gone. Throws without a free file descriptor. */
function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch (error) {
    return ifGone<string[]>([])(error);
  }
}

function processesIn(folder: string): number[] {
  return readLines(join(folder, 'cgroup.procs'))
    .map(Number)
    .filter((pid) => pid > 0);
}

function oomKillsIn(path: string): number {
  return Number(
    readLines(path)
      .map((line) => /^oom_kill (\d+)$/.exec(line)?.[1])
      .find((count) => count !== undefined) ?? 0,
  );
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifGone<Dirent[]>([]));
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** Returns all groups of this name below a folder. */
async function find(folder: string, name: string, depth = 0): Promise<string[]> {
  const found: string[] = [];
  for (const below of await foldersIn(folder)) {
    if (below.endsWith(`/${name}`)) found.push(below);
    else if (depth < DEPTH_MAX) found.push(...(await find(below, name, depth + 1)));
  }
  return found;
}
