/** What the operating system knows about processes. */
import { readdirSync, readFileSync } from 'node:fs';

/** One live process. */
export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  command: string;
}

/** All processes that still run; those that have ended and wait for their parent are left out. */
export function processTable(): ProcessEntry[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // "pid (command) state parent group ...": the command may hold blanks and brackets.
      const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [{ pid: Number(name), parent: Number(parent), group: Number(group), command }];
    } catch {
      return []; // It ended while it was being read.
    }
  });
}

/** The process runs. */
export function alive(pid: number): boolean {
  return processTable().some((entry) => entry.pid === pid);
}

/** Some process of the group runs. */
export function groupAlive(group: number): boolean {
  return processTable().some((entry) => entry.group === group);
}

/** A process and all it started, directly or not, as long as the ones between still run. */
export function descendants(pid: number): ProcessEntry[] {
  const table = processTable();
  const found = table.filter((entry) => entry.pid === pid);
  for (let i = 0; i < found.length; i += 1) found.push(...table.filter((entry) => entry.parent === found[i]!.pid));
  return found;
}
