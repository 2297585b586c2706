/**
 * What a unit started and what left its process group, a daemon for instance, where there are no control groups
 * (unit-cgroups.ts): it would go on after its unit's end, with the GPU that the next one is given. It is known by a
 * variable that it inherited, which names the machine, so that a later run of the agent knows it, too. Who clears that
 * is not found: this is for programs, not for attackers (docs/operate/security.md).
 */
import { readdir, readFile } from 'node:fs/promises';
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { sendSignal } from './send-signal.ts';

/**
 * Pause between two looks in milliseconds, and how many there are at most: what begins faster than it is ended is an
 * attacker's.
 */
const LOOK_MS = 5;
const LOOKS_MAX = 50;
/** Ends that share a look, and those that wait for one: more than units of a machine. */
const ENDS_MAX = 10_000;
const NAME = 'SLIPWAY_UNIT';
const SIGN = new RegExp(`(?:^|\0)${NAME}=([^\0]*)\0`);

let starts = 0;

/** A variable by which all that one start of a unit begins is known: no other of this host has the same value. */
export function unitMark(machineId: string, unitId: string): Record<typeof NAME, string> {
  starts += 1;
  return { [NAME]: `${machineId}.${unitId}.${process.pid}.${starts}` };
}

/** Looks at all processes of this host: those with each mark. */
type Look = () => Promise<ReadonlyMap<string, readonly number[]>>;

export class Strays {
  readonly #clock: Clock;
  readonly #look: Look;
  /** A look reads something of each process of the host: units that end together share it. */
  readonly #looks: Batcher<string, readonly number[]>;

  /** `look`: default that at this host. */
  constructor(clock: Clock, look: Look = lookAround) {
    this.#clock = clock;
    this.#look = look;
    this.#looks = new Batcher<string, readonly number[]>({
      name: 'strays',
      itemsMax: ENDS_MAX,
      waitingMax: ENDS_MAX,
      clock,
      flush: async (marks) => {
        const found = await look();
        return marks.map((mark) => found.get(mark) ?? []);
      },
    });
  }

  /**
   * Ends them at once. Resolves when none is found any more; never rejects. Elsewhere than on Linux nobody is looked
   * for.
   */
  async end({ [NAME]: mark }: Readonly<Record<typeof NAME, string>>): Promise<void> {
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const strays = await this.#looks.add(mark).catch((): number[] => []);
      if (strays.length === 0) return;
      for (const pid of strays) sendSignal(pid, 'SIGKILL');
      await delay(this.#clock, LOOK_MS);
    }
  }

  /**
   * Ends all that earlier runs of a machine's agent left. To be called before this one starts any. Answers how many
   * there were.
   */
  async endAllOf(machineId: string): Promise<number> {
    const ended = new Set<number>();
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const found = await this.#look().catch(() => new Map<string, readonly number[]>());
      const strays = [...found].filter(([mark]) => mark.startsWith(`${machineId}.`)).flatMap(([, pids]) => pids);
      if (strays.length === 0) break;
      for (const pid of strays) {
        ended.add(pid);
        sendSignal(pid, 'SIGKILL');
      }
      await delay(this.#clock, LOOK_MS);
    }
    return ended.size;
  }
}

/** One process after the other: an environment may have megabytes. */
async function lookAround(): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  const pids = (await readdir('/proc').catch((): string[] => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    // One that is gone, or belongs to somebody else, is none.
    const mark = SIGN.exec(await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''))?.[1];
    if (mark === undefined) continue;
    const others = found.get(mark);
    if (others) others.push(Number(pid));
    else found.set(mark, [Number(pid)]);
  }
  return found;
}
