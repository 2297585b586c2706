/**
 * Measures the processor time of test files. Each job of the pool has a control group, so the time of all processes
 * that a file starts is counted, also of those whose parents have ended. Not counted are the PostgreSQL of the run and
 * processes that move to other groups, such as containers.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The accounting hierarchy of version 1. It limits nothing, so a group in it changes nothing for its processes. */
const MOUNT = '/sys/fs/cgroup/cpuacct';
const NS_PER_MS = 1_000_000;

/** The group of one job. Nothing is counted on a host without the hierarchy, or where this user may not change it. */
export class ProcessorTime {
  readonly #folder: string;

  /** `name`: unique on this machine. A prefix `slipway-` lets a later run remove the group if this run is killed. */
  constructor(name: string, mount = MOUNT) {
    this.#folder = join(mount, name);
    // Not recursive: without the mount no folder is made.
    attempt(() => mkdirSync(this.#folder));
  }

  /** Counts the process and all that it starts from now on. */
  add(pid: number): void {
    attempt(() => writeFileSync(join(this.#folder, 'cgroup.procs'), String(pid), { flag: 'r+' }));
  }

  /** Returns the time of all processes so far, in milliseconds; `undefined` if nothing is counted. */
  usedMs(): number | undefined {
    return attempt(() => Number(readFileSync(join(this.#folder, 'cpuacct.usage'), 'utf8')) / NS_PER_MS);
  }

  /** Removes the group. It stays while a process is in it. */
  remove(): void {
    attempt(() => rmdirSync(this.#folder));
  }
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
