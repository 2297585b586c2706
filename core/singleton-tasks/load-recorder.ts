/**
 * Samples the load of all endpoints every ten seconds: how much waits and runs, and how many workers there are. Writes
 * only what has changed, in one statement, so an idle fleet costs two statements in ten seconds.
 */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { SampledLoad } from '../domain/scaling/load-history.ts';
import { LOAD_GAP_MS, LOAD_REPEAT_MS, LOAD_SAMPLE_MS } from '../domain/scaling/load-history.ts';
import type { Stores } from '../store/storage.ts';

interface LoadRecorderOptions {
  stores: Pick<Stores, 'loads'>;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** The period that this replica samples. */
interface Period {
  id: number;
  sampledAtMs: number;
  /** Last written load of each endpoint that has any. */
  written: Map<string, SampledLoad>;
  repeatAtMs: number;
}

export class LoadRecorder extends LoopService {
  readonly #options: LoadRecorderOptions;
  #period: Period | undefined;

  constructor(options: LoadRecorderOptions) {
    super({ ...options, name: 'load recorder', periodMs: LOAD_SAMPLE_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    const { stores, clock } = this.#options;
    const loads = await stores.loads.current();
    const nowMs = clock.monotonicMs();
    const period = this.#period;
    const written = new Map(loads.map((load) => [load.endpointId, load]));
    // After a longer pause another replica may have sampled, or none.
    if (!period || nowMs - period.sampledAtMs > LOAD_GAP_MS) {
      const id = await stores.loads.begin(loads);
      this.#period = { id, sampledAtMs: nowMs, written, repeatAtMs: nowMs + LOAD_REPEAT_MS };
      return;
    }
    const isRepeated = nowMs >= period.repeatAtMs;
    await stores.loads.extend(period.id, isRepeated ? loads : changesOf(period.written, loads));
    Object.assign(period, { sampledAtMs: nowMs, written });
    if (isRepeated) period.repeatAtMs = nowMs + LOAD_REPEAT_MS;
  }
}

/** Returns the loads that differ, and no load for endpoints that have none any more. */
function changesOf(before: ReadonlyMap<string, SampledLoad>, loads: readonly SampledLoad[]): SampledLoad[] {
  const present = new Set(loads.map(({ endpointId }) => endpointId));
  const ended = [...before.keys()].filter((id) => !present.has(id));
  return [
    ...loads.filter((load) => {
      const last = before.get(load.endpointId);
      return last?.queued !== load.queued || last.running !== load.running || last.workers !== load.workers;
    }),
    ...ended.map((endpointId) => ({ endpointId, queued: 0, running: 0, workers: 0 })),
  ];
}
