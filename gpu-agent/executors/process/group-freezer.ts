/**
 * Stops all processes of a group except its guard, which must run: it ends the group when the agent dies. A signal to
 * the whole group would stop the guard too, so each process gets its own signal, until a scan finds none that runs.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';

/** Pause between two scans, in milliseconds. */
const POLL_MS = 5;
/** A process that a driver blocks cannot be stopped. After this many milliseconds the freeze fails. */
const GIVE_UP_MS = 2_000;
/** States of /proc/PID/stat in which no instruction runs: stopped, traced, dead, zombie. */
const STANDING = new Set(['T', 't', 'X', 'Z']);

/**
 * Resolves when all processes of the group except the guard are stopped. Rejects, with the group running, if they
 * cannot be stopped.
 */
export async function freezeGroup(group: number, guardText: string, clock: Clock): Promise<void> {
  const startedAtMs = clock.monotonicMs();
  for (;;) {
    const members = await membersOf(group, guardText);
    const running = members.filter(({ state }) => !STANDING.has(state));
    if (running.length === 0) return;
    if (clock.monotonicMs() - startedAtMs > GIVE_UP_MS) {
      thawGroup(group);
      throw new Error(`process ${running.map(({ pid }) => pid).join(', ')} could not be stopped`);
    }
    for (const { pid } of running) send(pid, 'SIGSTOP');
    // A process that starts a program by vfork waits in the kernel until that program has begun. A child that is
    // stopped before then would block its parent forever.
    const waiting = new Set(running.filter(({ state }) => state === 'D').map(({ pid }) => pid));
    for (const { pid, parent, state } of members) if (state === 'T' && waiting.has(parent)) send(pid, 'SIGCONT');
    await delay(clock, POLL_MS);
  }
}

/** Resumes a frozen group. Does nothing if it runs or is gone. */
export function thawGroup(group: number): void {
  send(-group, 'SIGCONT');
}

interface Member {
  pid: number;
  /** State as in /proc/PID/stat. */
  state: string;
  /** Process id of its parent. */
  parent: number;
}

/** Returns the processes of the group without the guard. */
async function membersOf(group: number, guardText: string): Promise<Member[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process may be gone before it is read.
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      const [state, parent, itsGroup] = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
      if (Number(itsGroup) !== group) return undefined;
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return words.includes(guardText) ? undefined : { pid: Number(pid), state: state!, parent: Number(parent) };
    }),
  );
  return found.flatMap((member) => member ?? []);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone.
  }
}
