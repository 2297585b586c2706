/** Finds the processes of an agent that talk to the driver: its broker, and the helpers that the broker started. */
import { readdir, readFile } from 'node:fs/promises';

/** Returns the processes with this text in their command line that a process has started. */
async function childrenOf(pid: number, text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (each) => {
      const stat = await readFile(`/proc/${each}/stat`, 'utf8').catch(() => '');
      const words = await readFile(`/proc/${each}/cmdline`, 'utf8').catch(() => '');
      const [state, parent] = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
      return state !== 'Z' && Number(parent) === pid && words.includes(text) ? [each] : [];
    }),
  );
  return found.flat();
}

/** Returns the broker processes of an agent: at most one, once a dying one is gone. */
export function brokersOf(agentPid: number): Promise<number[]> {
  return childrenOf(agentPid, 'driver-broker');
}

/** Returns the helper processes of an agent. */
export async function helpersOf(agentPid: number): Promise<number[]> {
  const found = await Promise.all((await brokersOf(agentPid)).map((pid) => childrenOf(pid, 'driver-helper')));
  return found.flat();
}

/** Returns whether a process is gone. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
