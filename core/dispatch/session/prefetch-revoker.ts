/**
 * Revokes jobs that were prefetched behind a long one, if another worker could begin them. Only the agent knows
 * whether its worker has begun them, so the agent returns them as RETURNED. Until then it reports them as waiting
 * each second, and they are revoked again.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineAttempt } from '../../domain/jobs/job.ts';
import { REVOKE_AFTER_MS } from '../../domain/jobs/prefetch.ts';
import type { AttemptCalls } from '../../jobs/job-engine.ts';
import { refOf } from '../agent-messages.ts';
import type { SessionOutbox } from '../session-outbox.ts';
import type { SlotPool } from '../slot-pool.ts';

/** A worker without reports of waiting jobs for this many milliseconds has begun them. */
const SILENCE_MS_MAX = 3_000;

interface PrefetchRevokerOptions {
  pool: SlotPool;
  attempts: Pick<AttemptCalls, 'replaceable'>;
  outbox: Pick<SessionOutbox, 'revoke'>;
  clock: Clock;
  logger: Logger;
}

export class PrefetchRevoker {
  readonly #options: PrefetchRevokerOptions;
  /** Workers with waiting prefetched jobs: since when, and last report, in monotonic milliseconds. */
  readonly #waiting = new Map<string, { sinceMs: number; reportedMs: number }>();
  #checking = false;

  constructor(options: PrefetchRevokerOptions) {
    this.#options = options;
  }

  /** Handles a report of waiting prefetched attempts. Never rejects. */
  async waiting(attempts: readonly MachineAttempt[]): Promise<void> {
    const due = this.#due(attempts);
    if (due.length === 0 || this.#checking) return;
    this.#checking = true;
    try {
      await this.#revoke(due);
    } catch (error) {
      this.#options.logger.warn({ err: error, ...someAttempts(due) }, 'revoking prefetched jobs failed, will retry');
    } finally {
      this.#checking = false;
    }
  }

  /** Returns one attempt of each worker that has waited long enough. */
  #due(attempts: readonly MachineAttempt[]): AttemptRef[] {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [workerId, { reportedMs }] of this.#waiting)
      if (nowMs - reportedMs > SILENCE_MS_MAX) this.#waiting.delete(workerId);
    const byWorker = Map.groupBy(attempts, (attempt) => this.#options.pool.workerOf(attempt) ?? '');
    return [...byWorker].flatMap(([workerId, [first]]) => {
      const sinceMs = this.#waiting.get(workerId)?.sinceMs ?? nowMs;
      this.#waiting.set(workerId, { sinceMs, reportedMs: nowMs });
      return nowMs - sinceMs >= REVOKE_AFTER_MS ? [refOf({ ...first!, workerId })] : [];
    });
  }

  async #revoke(due: readonly AttemptRef[]): Promise<void> {
    const { pool, attempts, outbox, logger } = this.#options;
    const isIdleHere = ({ endpointId, workerId }: AttemptRef): boolean => pool.hasOtherCapacity(endpointId, workerId);
    const unsure = due.filter((ref) => !isIdleHere(ref));
    const found = new Set(unsure.length > 0 ? await attempts.replaceable(unsure) : []);
    for (const ref of due) {
      if (!found.has(ref.workerId) && !isIdleHere(ref)) continue;
      logger.debug({ ...ref }, 'prefetched jobs revoked');
      outbox.revoke(ref);
    }
  }
}
