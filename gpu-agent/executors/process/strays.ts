/**
 * Finds processes that a workload started and that left its process group, for instance a daemon, where there are no
 * control groups (workload-cgroups.ts). They would outlive the workload and use the GPU of the next one. They are known
 * by an inherited variable that names the machine, so that a later run of the agent finds them too. A process that
 * clears the variable is not found: this is for programs, not for attackers (docs/operate/security.md).
 */
import { readdir, readFile } from 'node:fs/promises';
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { ifGone, READ_AGAIN_MS, UNREAD_MS_MAX } from '../descriptors.ts';
import { sendSignal } from './send-signal.ts';

/**
 * Pause between two scans in milliseconds, and most scans: processes that start faster than they are ended are an
 * attacker's.
 */
const SCAN_PAUSE_MS = 5;
const SCANS_MAX = 50;
/** Most ends that share a scan, and most that wait for one: more than a machine has workloads. */
const ENDS_MAX = 10_000;
const NAME = 'SLIPWAY_UNIT';
const SIGN = new RegExp(`(?:^|\0)${NAME}=([^\0]*)\0`);

let starts = 0;

/**
 * Returns the variable that marks every process of one start of a workload: no other start on this host has the same
 * value.
 */
export function workloadMark(machineId: string, workloadId: string): Record<typeof NAME, string> {
  starts += 1;
  return { [NAME]: `${machineId}.${workloadId}.${process.pid}.${starts}` };
}

/** Scans all processes of this host and returns the process ids of each mark. */
type Scan = () => Promise<ReadonlyMap<string, readonly number[]>>;

export class Strays {
  readonly #clock: Clock;
  readonly #scan: Scan;
  /** A scan reads something of each process of the host, so workloads that end together share it. */
  readonly #scans: Batcher<string, readonly number[]>;

  /** `scan`: default scans this host. */
  constructor(clock: Clock, scan: Scan = scanProcesses) {
    this.#clock = clock;
    this.#scan = scan;
    this.#scans = new Batcher<string, readonly number[]>({
      name: 'strays',
      itemsMax: ENDS_MAX,
      waitingMax: ENDS_MAX,
      clock,
      flush: async (marks) => {
        const found = await scan();
        return marks.map((mark) => found.get(mark) ?? []);
      },
    });
  }

  /**
   * Ends the processes with this mark at once. Resolves when a whole scan finds none any more; never rejects. On
   * systems other than Linux none is found.
   */
  async end({ [NAME]: mark }: Readonly<Record<typeof NAME, string>>): Promise<void> {
    await this.#killUntilNone(() => this.#scans.add(mark));
  }

  /** Kills the processes that `read` returns, until it returns none. A scan that fails is repeated for some time. */
  async #killUntilNone(read: () => Promise<readonly number[]>): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + UNREAD_MS_MAX;
    for (let scans = 0; scans < SCANS_MAX; ) {
      const strays = await read().catch(() => undefined);
      if (strays === undefined && this.#clock.monotonicMs() >= untilMs) return;
      if (strays) scans += 1;
      if (strays?.length === 0) return;
      for (const pid of strays ?? []) sendSignal(pid, 'SIGKILL');
      await delay(this.#clock, strays ? SCAN_PAUSE_MS : READ_AGAIN_MS);
    }
  }

  /**
   * Ends all processes that previous runs of a machine's agent left. Call it before this run starts any. Returns how
   * many there were.
   */
  async endAllOf(machineId: string): Promise<number> {
    const ended = new Set<number>();
    await this.#killUntilNone(async () => {
      const found = await this.#scan();
      const strays = [...found].filter(([mark]) => mark.startsWith(`${machineId}.`)).flatMap(([, pids]) => pids);
      for (const pid of strays) ended.add(pid);
      return strays;
    });
    return ended.size;
  }
}

/**
 * Reads one process after the other: an environment may have megabytes. Rejects without a free file descriptor: a part
 * of the processes would look like all of them.
 */
async function scanProcesses(): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  const pids = (await readdir('/proc').catch(ifGone<string[]>([]))).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    // A process that is gone, or that belongs to another user, has no mark.
    const mark = SIGN.exec(await readFile(`/proc/${pid}/environ`, 'latin1').catch(ifGone('')))?.[1];
    if (mark === undefined) continue;
    const others = found.get(mark);
    if (others) others.push(Number(pid));
    else found.set(mark, [Number(pid)]);
  }
  return found;
}
