/** Reads what processes of this host use, from the kernel's files about each. */
import { readFileSync } from 'node:fs';
import type { Clock } from '@slipway/kit/time/clock';

/** Ticks in a second of processor time, the same on every Linux. */
const TICKS = 100;
/** Processes that are read before other events get their turn. */
const READS_AT_ONCE = 16;

/** Use by some processes. */
export interface ProcessUse {
  /** Resident memory in MiB. */
  memoryMib: number;
  /** Processor time of each process since its start in seconds. A process id that is used again has another name. */
  seconds: ReadonlyMap<string, number>;
}

/** Returns the use. Processes that have ended are left out; `undefined` if none is left. */
export async function useOf(pids: readonly number[], clock: Pick<Clock, 'soon'>): Promise<ProcessUse | undefined> {
  const seconds = new Map<string, number>();
  let kib = 0;
  for (const [index, pid] of pids.entries()) {
    // Also before the first: most workers have few processes, and are measured one after the other.
    if (index % READS_AT_ONCE === 0) await new Promise<void>((resolve) => clock.soon(resolve));
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
      const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0;
      seconds.set(`${pid} ${fields[19]}`, (Number(fields[11]) + Number(fields[12])) / TICKS);
      kib += Number(resident);
    } catch {
      // It has ended.
    }
  }
  return seconds.size === 0 ? undefined : { memoryMib: Math.round(kib / 1024), seconds };
}
