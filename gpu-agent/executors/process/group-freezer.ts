/**
 * Stops all processes of a group except its guard, which must run: it ends the group when the agent dies. A signal to
 * the whole group would stop the guard too, so each process gets its own signal, until a scan finds none that runs.
 */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { ifGone } from '../descriptors.ts';
import { sendSignal } from './send-signal.ts';

/** Pause between two scans, in milliseconds. */
const POLL_MS = 5;
/** A process that a driver blocks cannot be stopped. After this many milliseconds the freeze fails. */
const GIVE_UP_MS = 2_000;
/** States of /proc/PID/stat in which no instruction runs: stopped, traced, dead, zombie. */
const STANDING = new Set(['T', 't', 'X', 'Z']);
/** Processes that are read before other events get their turn: a machine may have thousands. */
const READS_AT_ONCE = 32;

/** The group to freeze. */
interface FrozenGroup {
  /** Its id. */
  group: number;
  /** Text in the command line of its guard. */
  guardText: string;
  /** Returns processes among which all of the group are. `undefined` if only a scan of the machine finds them. */
  candidates(): readonly number[] | undefined;
  /** Returns whether it was asked to end. */
  isEnding(): boolean;
  clock: Clock;
}

/**
 * Resolves when all processes of the group except the guard are stopped, or when it is asked to end: it is then left
 * running. Rejects, with the group running, if they cannot be stopped.
 */
export async function freezeGroup(frozen: FrozenGroup): Promise<void> {
  const { group, isEnding, clock } = frozen;
  const startedAtMs = clock.monotonicMs();
  for (;;) {
    const members = await membersOf(frozen).catch((error: unknown) => {
      thawGroup(group);
      throw error;
    });
    // A stopped process would handle the signal only when it is killed.
    if (isEnding()) return thawGroup(group);
    const running = members.filter(({ state }) => !STANDING.has(state));
    if (running.length === 0) return;
    if (clock.monotonicMs() - startedAtMs > GIVE_UP_MS) {
      thawGroup(group);
      throw new Error(`process ${running.map(({ pid }) => pid).join(', ')} could not be stopped`);
    }
    for (const { pid } of running) sendSignal(pid, 'SIGSTOP');
    // A process that starts a program by vfork waits in the kernel until that program has begun. A child that is
    // stopped before then would block its parent forever.
    const waiting = new Set(running.filter(({ state }) => state === 'D').map(({ pid }) => pid));
    for (const { pid, parent, state } of members) if (state === 'T' && waiting.has(parent)) sendSignal(pid, 'SIGCONT');
    await delay(clock, POLL_MS);
  }
}

/** Resumes a frozen group. Does nothing if it runs or is gone. */
export function thawGroup(group: number): void {
  sendSignal(-group, 'SIGCONT');
}

interface Member {
  pid: number;
  /** State as in /proc/PID/stat. */
  state: string;
  /** Process id of its parent. */
  parent: number;
}

/** Returns the processes of the group without the guard. */
async function membersOf({ group, guardText, candidates, clock }: FrozenGroup): Promise<Member[]> {
  const found: Member[] = [];
  // A group that lives has its guard at least: a list without it could not be read.
  const listed = candidates() ?? [];
  for (const [index, pid] of (listed.length > 0 ? listed : await allProcesses()).entries()) {
    if (index > 0 && index % READS_AT_ONCE === 0) await new Promise<void>((resolve) => clock.soon(resolve));
    const [state, parent, itsGroup] = textOf(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ');
    if (Number(itsGroup) !== group || textOf(`/proc/${pid}/cmdline`).includes(guardText)) continue;
    found.push({ pid, state: state!, parent: Number(parent) });
  }
  return found;
}

async function allProcesses(): Promise<number[]> {
  return (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
}

/** Returns the content of a file; empty if its process is gone. Throws without a free file descriptor. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return ifGone('')(error);
  }
}
