/**
 * What a unit started and what left its process group, a daemon for instance: it would go on after its unit's end, with the GPU that the next one is
 * given. It is known by a variable that it inherited. Who clears that is not found: this is for programs, not for attackers (docs/security.md).
 */
import { readFile, readdir } from 'node:fs/promises';
import { delay } from '../../../core/runtime/clock.ts';
import type { Clock } from '../../../core/runtime/clock.ts';

/** Pause between two looks in milliseconds, and how many there are at most: what begins faster than it is ended is an attacker's. */
const LOOK_MS = 5;
const LOOKS_MAX = 50;

let starts = 0;

/** A variable by which all that one start of a unit begins is known: no other of this host has the same value. */
export function unitMark(unitId: string): Record<string, string> {
  starts += 1;
  return { SLIPWAY_UNIT: `${unitId}.${process.pid}.${starts}` };
}

/** Ends them at once. Resolves when none is found any more; never rejects. Elsewhere than on Linux nobody is looked for. */
export async function endStrays(mark: Readonly<Record<string, string>>, clock: Clock): Promise<void> {
  const text = Object.entries(mark).map(([name, value]) => `\0${name}=${value}\0`).join('');
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const strays = await marked(Buffer.from(text));
    if (strays.length === 0) return;
    for (const pid of strays) end(pid);
    await delay(clock, LOOK_MS);
  }
}

/** One after the other: an environment may have megabytes. */
async function marked(mark: Buffer): Promise<number[]> {
  const found: number[] = [];
  const pids = (await readdir('/proc').catch((): string[] => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    // One that is gone, or belongs to somebody else, is none.
    const environment = await readFile(`/proc/${pid}/environ`).catch(() => undefined);
    if (environment && environment.length > 0 && Buffer.concat([Buffer.alloc(1), environment]).includes(mark)) found.push(Number(pid));
  }
  return found;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}
