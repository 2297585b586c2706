/**
 * Asks for the jobs back that a worker has in hand behind one that takes long, when another worker could begin them. Only their agent knows whether
 * their worker has begun them, so it gives them back itself, as RETURNED; until it has, they are told as waiting each second and asked for again.
 */
import type { AttemptRef } from '../../proto/gen/slipway/v1/agent_service.ts';
import { REVOKE_AFTER_MS } from '../domain/prefetch.ts';
import type { MachineAttempt } from '../domain/job.ts';
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { Clock } from '../runtime/clock.ts';
import { someAttempts } from '../runtime/logger.ts';
import type { Logger } from '../runtime/logger.ts';
import { refOf } from './agent-messages.ts';
import type { SessionOutbox } from './session-outbox.ts';
import type { SlotPool } from './slot-pool.ts';

/** A worker that was silent for so long about jobs in hand, in milliseconds, has begun them. */
const SILENCE_MS_MAX = 3_000;

export interface PrefetchRevokerOptions {
  pool: SlotPool;
  attempts: Pick<AttemptCalls, 'replaceable'>;
  outbox: Pick<SessionOutbox, 'revoke'>;
  clock: Clock;
  logger: Logger;
}

export class PrefetchRevoker {
  readonly #options: PrefetchRevokerOptions;
  /** Workers with jobs that wait in hand: since when, and when that was said last, on the steady clock. */
  readonly #waiting = new Map<string, { sinceMs: number; reportedMs: number }>();
  #checking = false;

  constructor(options: PrefetchRevokerOptions) {
    this.#options = options;
  }

  /** These attempts wait in hand. Never rejects. */
  async waiting(attempts: readonly MachineAttempt[]): Promise<void> {
    const due = this.#due(attempts);
    if (due.length === 0 || this.#checking) return;
    this.#checking = true;
    try {
      await this.#revoke(due);
    } catch (error) {
      this.#options.logger.warn({ err: error, ...someAttempts(due) }, 'nobody could be found for jobs that wait in hand, will look again');
    } finally {
      this.#checking = false;
    }
  }

  /** One of each worker that has been waited for long enough. */
  #due(attempts: readonly MachineAttempt[]): AttemptRef[] {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [workerId, { reportedMs }] of this.#waiting) if (nowMs - reportedMs > SILENCE_MS_MAX) this.#waiting.delete(workerId);
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
      logger.info({ ...ref }, 'jobs that wait in hand behind a long one are asked back');
      outbox.revoke(ref);
    }
  }
}
