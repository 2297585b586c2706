/**
 * A burst of short jobs after the faults, when nothing disturbs it: replicas learn that the endpoint's jobs are short
 * and prefetch. One job takes long. Those prefetched behind it must be returned: another worker is idle.
 */
import { NATURE } from '../world/being.ts';
import type { ClientOptions, Plan } from './client.ts';
import { SimClient } from './client.ts';

/** The endpoint of the burst: two workers, one job at a time. */
export const BURST_ENDPOINT = 'endpoint000005';

/** Time after the last fault until everything has settled: half-open connections are noticed by then. */
const SETTLED_MS = 31_000;
/** Jobs by which replicas learn how long jobs take, and the pause between two. */
const FIRST = 12;
const FIRST_PAUSE_MS = 150;
const JOBS = 40;
/** The job that takes long, and how long, in milliseconds. */
const LONG = { index: 16, ms: 22_000 };
const RUN_MS = { least: 60, most: 110 };

export class Burst {
  readonly #options: ClientOptions;
  /** Receives each client that comes. */
  readonly #onClient: (client: SimClient) => void;
  #isWhole = false;

  constructor(options: ClientOptions, onClient: (client: SimClient) => void) {
    this.#options = options;
    this.#onClient = onClient;
  }

  /** True if all clients have come. */
  get isOver(): boolean {
    return this.#isWhole;
  }

  /** Begins after the last fault. */
  async begin(): Promise<void> {
    const { world } = this.#options;
    await world.pause(SETTLED_MS, NATURE);
    for (let index = 0; index < FIRST; index += 1) {
      this.#come(`first${index}`, world.between(RUN_MS.least, RUN_MS.most));
      await world.pause(FIRST_PAUSE_MS, NATURE);
    }
    for (let index = 0; index < JOBS; index += 1)
      this.#come(`burst${index}`, index === LONG.index ? LONG.ms : world.between(RUN_MS.least, RUN_MS.most));
    this.#isWhole = true;
  }

  #come(name: string, ms: number): void {
    const own: Partial<Plan> = {
      ...{ input: { client: name, ms }, isSync: false, webhook: false, lowPriority: false, cancelsOnSight: false },
      ...{ key: '', ttlMs: undefined, executionTimeoutMs: undefined, isPatient: true },
    };
    this.#onClient(new SimClient(this.#options, BURST_ENDPOINT, name, { own }));
  }
}
