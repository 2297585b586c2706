/** Lets batches advance, and deletes files and batches whose time is over. Costs nothing to speak of without any. */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { BatchPace } from '../batches/advance-batch.ts';
import { advanceBatch, newPace } from '../batches/advance-batch.ts';
import type { ArrivalRecorder } from '../batches/arrival-recorder.ts';
import type { BatchParts } from '../batches/batch-engine.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { Stores } from '../store/storage.ts';

interface BatchRunnerOptions extends BatchParts {
  stores: BatchParts['stores'] & Pick<Stores, 'batchReaper'>;
  arrivals: ArrivalRecorder;
  events: CoreEvents;
  task: SingletonTask;
}

/** Milliseconds between two steps of a batch, and between two searches for batches when there are none. */
const STEP_MS = 500;
const SEARCH_MS = 60_000;
/** A batch without progress is tried more rarely: after this share of the time it has stood still, … */
const IDLE_SHARE = 0.2;
/** … at most this many milliseconds later. */
const IDLE_MS_MAX = 10_000;
const REAP_MS = 60_000;
/** Steps at a time of one batch that has more to do at once, until the others have their turn. */
const STEPS_AT_ONCE = 5;

interface KnownBatch {
  pace: BatchPace;
  dueMs: number;
}

export class BatchRunner extends LoopService {
  readonly #options: BatchRunnerOptions;
  readonly #known = new Map<string, KnownBatch>();
  #searchDueMs = 0;
  #reapDueMs = 0;
  /** Time of the last check of all batches for another replica's jobs, in monotonic milliseconds. */
  #gaveWayMs = 0;
  #offs: (() => void)[] = [];

  constructor(options: BatchRunnerOptions) {
    super({ ...options, name: 'batch runner', periodMs: STEP_MS });
    this.#options = options;
  }

  protected override onStart(): Promise<void> {
    const { arrivals, events } = this.#options;
    this.#offs = [
      events.on('batches', (ids) => {
        this.#searchDueMs = 0;
        for (const id of ids) this.#known.delete(id);
        this.wake();
      }),
      events.on('load', (loads) => {
        const first = loads.filter(({ endpointId, jobs }) => jobs > 0 && arrivals.record(endpointId, jobs));
        if (first.length > 0) this.#giveWay();
      }),
      // Another replica's job waits for a worker. The store says whether it is a normal one.
      events.on('queued', (ids) => {
        if (!events.relaying || this.#options.clock.monotonicMs() - this.#gaveWayMs < STEP_MS) return;
        if (ids.some((id) => arrivals.watches(id))) this.#giveWay();
      }),
    ];
    return super.onStart();
  }

  protected override onStop(): Promise<void> {
    for (const off of this.#offs) off();
    return super.onStop();
  }

  /** Evaluates all batches now, waiting ones too: an endpoint has begun to receive normal requests. */
  #giveWay(): void {
    this.#gaveWayMs = this.#options.clock.monotonicMs();
    for (const known of this.#known.values()) known.dueMs = 0;
    this.wake();
  }

  protected override async pass(): Promise<boolean> {
    const { clock, stores } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#searchDueMs) {
      this.#searchDueMs = nowMs + SEARCH_MS;
      await this.#search();
    }
    let more = false;
    for (const [id, known] of this.#known) {
      if (this.ending.aborted) return false;
      if (clock.monotonicMs() >= known.dueMs) more = (await this.#advance(id, known)) || more;
    }
    if (!more && nowMs >= this.#reapDueMs) {
      const reaped = (await stores.batchReaper.reapFile()) || (await stores.batchReaper.reapBatch());
      if (!reaped) this.#reapDueMs = nowMs + REAP_MS;
      return reaped;
    }
    return more;
  }

  async #search(): Promise<void> {
    const active = new Set(await this.#options.stores.batchWork.active());
    for (const id of this.#known.keys()) if (!active.has(id)) this.#known.delete(id);
    for (const id of active) if (!this.#known.has(id)) this.#known.set(id, { pace: newPace(), dueMs: 0 });
  }

  /** Advances a batch by some steps. An error is logged and not thrown: it must not stop other batches. */
  async #advance(id: string, known: KnownBatch): Promise<boolean> {
    const { clock, logger } = this.#options;
    const { pace } = known;
    try {
      for (let steps = 0; steps < STEPS_AT_ONCE; steps += 1) {
        const next = this.ending.aborted ? 'later' : await advanceBatch(this.#options, id, pace);
        if (next === 'now') continue;
        if (next === 'never') this.#known.delete(id);
        known.dueMs = clock.monotonicMs() + Math.min(pace.idleSteps * STEP_MS * IDLE_SHARE, IDLE_MS_MAX);
        return false;
      }
      return true;
    } catch (error) {
      pace.idleSteps += 1;
      known.dueMs = clock.monotonicMs() + Math.min(pace.idleSteps * STEP_MS, IDLE_MS_MAX);
      if (!this.ending.aborted) logger.warn({ err: error, batchId: id }, 'batch did not advance, will try again');
      return false;
    }
  }
}
