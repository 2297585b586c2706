/** Reads the processes of the operating system. */
import { readdirSync, readFileSync } from 'node:fs';

/** One live process. */
export interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  command: string;
}

/** Returns all running processes. Zombies are left out. */
export function processTable(): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readEntry(Number(name)) ?? []);
}

function readEntry(pid: number): ProcessEntry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // "pid (command) state parent group ...": the command may hold blanks and brackets.
    const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { pid, parent: Number(parent), group: Number(group), command };
  } catch {
    return undefined; // It ended while it was being read.
  }
}

/** Returns true if a process of the group runs. Cheap as long as its leader runs. */
export function groupAlive(group: number): boolean {
  return readEntry(group)?.group === group || processTable().some((entry) => entry.group === group);
}

/** Returns a process and all its descendants, as long as the processes between them still run. */
export function descendants(pid: number): ProcessEntry[] {
  const table = processTable();
  const found = table.filter((entry) => entry.pid === pid);
  for (let i = 0; i < found.length; i += 1) found.push(...table.filter((entry) => entry.parent === found[i]!.pid));
  return found;
}

/** Returns false for tap's `skip` option if /proc shows processes, else the reason. */
export function skipWithoutProc(): false | string {
  return process.platform === 'linux' ? false : 'reads /proc, which only Linux has';
}
