/**
 * Frozen workers may keep what memory nobody else wants, and no more: when the machine runs short they go, the longest
 * frozen first and one at a time, because the memory of one that ends is free only a moment later.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { WorkerPool } from './worker-pool.ts';

/** Share of the machine's memory that must be available while workers stand still. */
const FREE_SHARE_MIN = 0.1;
/** Pause after one had to go, in milliseconds. */
const PAUSE_MS = 1_000;

/** What it needs. */
export interface StandbyRoomOptions {
  pool: Pick<WorkerPool, 'endOldestFrozen'>;
  /** Share of the machine's memory that programs could have, 0 to 1. */
  freeShare(): number;
  clock: Clock;
  logger: Logger;
}

export class StandbyCapacity {
  readonly #options: StandbyRoomOptions;
  #quietUntilMs = -Infinity;

  constructor(options: StandbyRoomOptions) {
    this.#options = options;
  }

  /** Looks whether memory is short. Called often. */
  pass(): void {
    const { pool, freeShare, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#quietUntilMs) return;
    const share = freeShare();
    if (share >= FREE_SHARE_MIN) return;
    const ended = pool.endOldestFrozen('The machine needed the memory that it kept while it was frozen.');
    if (!ended) return;
    this.#quietUntilMs = nowMs + PAUSE_MS;
    logger.info(
      { freeShare: share, workerId: ended.id, endpointId: ended.endpointId },
      'memory is short: a frozen worker goes',
    );
  }
}
