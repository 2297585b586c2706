/**
 * Limits the memory of workers on standby to what nothing else needs. When the machine runs short of memory, they are
 * ended, the longest on standby first. They are ended one at a time, because the memory of an ended worker is free only
 * a moment later.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { WorkerPool } from './worker-pool.ts';

/** Share of the machine's memory that must be available while workers are on standby. */
const FREE_SHARE_MIN = 0.1;
/** Pause after a worker was ended, in milliseconds. */
const PAUSE_MS = 1_000;

/** Dependencies of StandbyCapacity. */
interface StandbyCapacityOptions {
  pool: Pick<WorkerPool, 'hasFrozen' | 'endOldestFrozen'>;
  /** Returns the share of the machine's memory that is available to programs, 0 to 1. */
  freeShare(): number;
  clock: Clock;
  logger: Logger;
}

export class StandbyCapacity {
  readonly #options: StandbyCapacityOptions;
  #quietUntilMs = -Infinity;

  constructor(options: StandbyCapacityOptions) {
    this.#options = options;
  }

  /** Ends a worker on standby if memory is short. Called often. */
  pass(): void {
    const { pool, freeShare, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#quietUntilMs) return;
    // Reading the machine's memory costs three system calls, four times a second.
    if (!pool.hasFrozen) return;
    const share = freeShare();
    if (share >= FREE_SHARE_MIN) return;
    const ended = pool.endOldestFrozen('The machine needed the memory that it kept on standby.');
    if (!ended) return;
    this.#quietUntilMs = nowMs + PAUSE_MS;
    logger.info(
      { freeShare: share, workerId: ended.id, endpointId: ended.endpointId },
      'memory is short: a worker on standby is ended',
    );
  }
}
