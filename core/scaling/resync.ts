/**
 * Periodic resync: once a second one replica evaluates all endpoints that have workers, demand or unplaced workers. It
 * finds what no event reported. Idle endpoints without workers cost nothing. It runs beside the trigger, so a long
 * resync delays no first job. It waits for the reconciles that it queues, and for no others. An endpoint whose
 * reconcile fails holds up neither other endpoints nor the end of lost workers.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { HEARTBEAT_PERIOD_MS } from '../domain/machines/lease.ts';
import type { CoreEvents } from '../events/core-events.ts';
import { ReconcileTimeoutError } from '../store/scaling/transaction-monitor.ts';
import { isLockTimeout, isTransient } from '../store/sql/transient.ts';
import type { Stores } from '../store/storage.ts';
import type { Evaluator } from './evaluator.ts';
import type { WorkQueue } from './work-queue.ts';

/**
 * Pause between two passes, in milliseconds (docs/reference/management.md#scaling). At rest it is REST_MS: then only a
 * move of GPU memory that takes too long, which has no timer, is found later.
 */
const PERIOD_MS = 1_000;
/** Pause between two scans of all queues, as a multiple of their duration. Queued jobs also trigger an evaluation. */
const QUEUES_PAUSE_FACTOR = 50;
/** Maximum number of endpoints per evaluation. */
const BATCH_MAX = 200;
/**
 * Time without a database error after which workers of machines with expired leases are ended, in milliseconds. After
 * an outage all leases have expired, although every agent is alive and about to renew its lease.
 */
const LOST_AFTER_HEALTHY_MS = 3 * HEARTBEAT_PERIOD_MS;
const NO_IDS: ReadonlySet<string> = new Set();

/** Dependencies of the resync. */
interface ResyncOptions {
  store: Stores['scales'];
  events: CoreEvents;
  task: SingletonTask;
  evaluator: Evaluator;
  queue: WorkQueue;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class ResyncLoop extends BaseService {
  readonly name = 'scaling resync';
  readonly #options: ResyncOptions;
  readonly #loop: Loop;
  #queuesPausedUntilMs = -Infinity;
  #healthySinceMs: number | undefined;
  #off: () => void = () => undefined;

  constructor(options: ResyncOptions) {
    super();
    this.#options = options;
    const { activity, clock, random, logger } = options;
    this.#loop = new Loop({
      name: this.name,
      pass: () => this.#pass(),
      periodMs: PERIOD_MS,
      restMs: REST_MS,
      activity,
      clock,
      random,
      logger,
    });
  }

  protected override async onStart(): Promise<void> {
    this.#off = this.#options.task.onAcquired(() => this.#onTaken());
    await this.#loop.start();
  }

  protected override async onStop(): Promise<void> {
    this.#off();
    await this.#loop.stop();
  }

  /** Runs a pass now: the previous owner may have left something undone. */
  #onTaken(): void {
    this.#healthySinceMs = undefined;
    this.#loop.wake();
  }

  async #pass(): Promise<void> {
    try {
      await this.#resync();
    } catch (error) {
      this.#healthySinceMs = undefined;
      throw error;
    }
  }

  async #resync(): Promise<void> {
    const { store, clock, task, evaluator, queue, logger } = this.#options;
    const startMs = clock.monotonicMs();
    this.#healthySinceMs ??= startMs;
    if (!task.mine) return evaluator.keepOnly(NO_IDS);
    const queues = startMs >= this.#queuesPausedUntilMs;
    const { endpointIds, lost } = await store.endpointsToResync({ queues });
    if (queues) {
      const now = clock.monotonicMs();
      this.#queuesPausedUntilMs = now + (now - startMs) * QUEUES_PAUSE_FACTOR;
    }
    const ids = new Set(endpointIds);
    if (lost && startMs - this.#healthySinceMs > LOST_AFTER_HEALTHY_MS) await this.#endLost(ids);
    evaluator.keepOnly(ids);
    const all = [...ids];
    for (let from = 0; from < all.length; from += BATCH_MAX) {
      const due = await evaluator.evaluate(all.slice(from, from + BATCH_MAX));
      await queue.add(due).catch((error: unknown) => {
        if (mayBeOutage(error)) throw error;
        logger.warn({ err: error }, 'reconcile failed; the next resync retries it');
      });
    }
  }

  /** Ends workers of lost machines, and adds their endpoints to `ids`. */
  async #endLost(ids: Set<string>): Promise<void> {
    const lost = await this.#options.store.endLost();
    for (const id of lost) ids.add(id);
    this.#options.events.emit('rotation', lost);
  }
}

/** Returns whether the database may have been away. A lock that another client holds concerns some endpoints only. */
function mayBeOutage(error: unknown): boolean {
  return error instanceof ReconcileTimeoutError || (isTransient(error) && !isLockTimeout(error));
}
