/** Finds the processes of a container, by their ids on this host. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import { descendantsOf } from '../descendants.ts';
import { ifGone, readAgain } from '../descriptors.ts';

/** Mount point of control groups; in version 1 each kind has its own folder. */
const CGROUPS = '/sys/fs/cgroup';
/** Levels of control groups searched below a container's own. */
const DEPTH_MAX = 8;

/**
 * Returns the processes in the control group of a container and all descendants of its first process, `pid`.
 * Empty if they run on another kernel, as with an engine in a virtual machine. Never returns a part of them: without a
 * free file descriptor it tries again for 2 s and then rejects.
 */
export function containerPids(
  containerId: string,
  pid: number,
  clock: Pick<Clock, 'soon' | 'after'>,
): Promise<number[]> {
  return readAgain(clock, () => readPids(containerId, pid, clock));
}

async function readPids(containerId: string, pid: number, clock: Pick<Clock, 'soon' | 'after'>): Promise<number[]> {
  const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(ifGone(''))).trim().split('\n');
  // Without its own group, the container shares one with other programs.
  const own = lines.map((line) => line.split(':')).filter(([, , path]) => path?.includes(containerId));
  const folders = own.map(([, kind = '', path = '']) => join(CGROUPS, kind.replace(/^name=/, ''), path));
  const found = new Set([pid, ...(await descendantsOf(pid, clock)).keys()]);
  for (const folder of folders) for (const each of await pidsBelow(folder)) found.add(each);
  return lines.length > 0 && lines[0] !== '' ? [...found] : [];
}

async function pidsBelow(folder: string, depth = 0): Promise<number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(ifGone(''));
  const pids = text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
  if (depth >= DEPTH_MAX || text === '') return pids;
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    // It has just ended. Any other failure must not look like a container with fewer processes.
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const below = entries.filter((entry) => entry.isDirectory());
  for (const { name } of below) pids.push(...(await pidsBelow(join(folder, name), depth + 1)));
  return pids;
}
