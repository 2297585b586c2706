/** Measures the processors and memory that each worker uses, while the agent runs. */
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { HostLoad } from '@slipway/proto/gen/slipway/v1/machine';
import type { ProcessUse } from '../../executors/process-use.ts';
import { useOf } from '../../executors/process-use.ts';
import type { Worker } from './worker.ts';
import type { WorkerPool } from './worker-pool.ts';

/** Interval between two looks, in milliseconds. */
const PERIOD_MS = 10_000;
/** Most workers that are measured. */
const WORKERS_MAX = 200;
/** Smallest changes that are reported: an idle worker is no news. */
const PROCESSORS_STEP = 0.05;
const MEMORY_STEP_MIB = 8;
const MEMORY_STEP_SHARE = 0.02;

/** Dependencies of the measurement. */
interface WorkerLoadsOptions {
  pool: Pick<WorkerPool, 'all'>;
  /** Called when a load has changed enough to be reported. */
  onChange(): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Result of the last look at a worker. */
interface Seen {
  atMs: number;
  use: ProcessUse;
}

export class WorkerLoads extends Loop {
  readonly #options: WorkerLoadsOptions;
  #seen = new Map<string, Seen>();
  #loads: Readonly<Record<string, HostLoad>> = {};

  constructor(options: WorkerLoadsOptions) {
    super({ ...options, name: 'worker loads', periodMs: PERIOD_MS, pass: () => this.look() });
    this.#options = options;
  }

  /** The loads by worker. Workers that cannot be measured are left out. */
  get loads(): Readonly<Record<string, HostLoad>> {
    return this.#loads;
  }

  /** Measures all workers that run. */
  async look(): Promise<void> {
    const { pool, onChange } = this.#options;
    const running = pool.all().filter(({ hasEnded, frozenSinceMs }) => !hasEnded && frozenSinceMs === undefined);
    const before = this.#seen;
    this.#seen = new Map();
    const loads: Record<string, HostLoad> = {};
    for (const worker of running.slice(0, WORKERS_MAX)) {
      const load = await this.#measure(worker, before.get(worker.id));
      if (load) loads[worker.id] = load;
    }
    const known = this.#loads;
    const ids = Object.keys(loads);
    const isNews = ids.length !== Object.keys(known).length || ids.some((id) => differs(known[id], loads[id]!));
    if (!isNews) return;
    this.#loads = loads;
    onChange();
  }

  /** Returns the load of a worker. `undefined` if it does not run, or its processes cannot be seen. */
  async #measure(worker: Worker, before: Seen | undefined): Promise<HostLoad | undefined> {
    const { clock } = this.#options;
    // One whose processes end meanwhile must not hide the loads of the others.
    const found = await worker.use().catch(() => []);
    if (!Array.isArray(found)) return found;
    const use = await useOf(found, clock);
    if (!use) return undefined;
    const atMs = clock.monotonicMs();
    this.#seen.set(worker.id, { atMs, use });
    return { memoryUsedMib: use.memoryMib, processors: before && processorsBetween(before, { atMs, use }) };
  }
}

/** Returns the processors in use on average. Time of processes that ended in between is not known. */
function processorsBetween(before: Seen, now: Seen): number {
  const used = [...now.use.seconds].reduce(
    (sum, [name, seconds]) => sum + Math.max(0, seconds - (before.use.seconds.get(name) ?? 0)),
    0,
  );
  return Math.round((used * 100_000) / Math.max(1, now.atMs - before.atMs)) / 100;
}

function differs(before: HostLoad | undefined, now: HostLoad): boolean {
  if (before === undefined || (before.processors === undefined) !== (now.processors === undefined)) return true;
  const memory = Math.abs((now.memoryUsedMib ?? 0) - (before.memoryUsedMib ?? 0));
  return (
    Math.abs((now.processors ?? 0) - (before.processors ?? 0)) >= PROCESSORS_STEP ||
    memory >= Math.max(MEMORY_STEP_MIB, (before.memoryUsedMib ?? 0) * MEMORY_STEP_SHARE)
  );
}
