/**
 * Removes control groups that killed agents of earlier test runs left. At its start, each agent searches all groups of
 * the host for those of its machine: 1,800 leftovers cost every start 80 ms of processor time.
 */
import { readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MOUNTS = '/sys/fs/cgroup';
/** Name of an agent's group; those of its workloads are below. */
const PREFIX = 'slipway-';
/** Levels that are searched. Agents search as deep. */
const DEPTH_MAX = 9;
/** Least age of a group, in milliseconds: a younger one may belong to a run beside this one. */
const AGE_MS_MIN = 3_600_000;

/** Removes empty groups of agents that have not changed for an hour. Never throws: the kernel keeps those in use. */
export function removeOldCgroups(nowMs: number, folder = MOUNTS, depth = 0): void {
  for (const below of foldersIn(folder)) {
    const path = join(folder, below);
    if (!below.startsWith(PREFIX)) {
      if (depth < DEPTH_MAX) removeOldCgroups(nowMs, path, depth + 1);
      continue;
    }
    const old = [...foldersIn(path).map((name) => join(path, name)), path].filter((each) => isOld(each, nowMs));
    for (const each of old) removeEmpty(each);
  }
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  } catch {
    return []; // It has gone, or another user's.
  }
}

function isOld(folder: string, nowMs: number): boolean {
  const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? {};
  return mtimeMs !== undefined && nowMs - mtimeMs > AGE_MS_MIN;
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It has processes or groups.
  }
}
