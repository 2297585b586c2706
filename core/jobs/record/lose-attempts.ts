/** Records attempts as LOST that a machine or worker no longer holds. */

import type { AttemptKey } from '../../domain/jobs/job.ts';
import type { Stores } from '../../store/storage.ts';
import type { RecordOutcome } from './attempt-report.ts';

export class LoseAttempts {
  readonly #attempts: Stores['attempts'];
  readonly #recordOutcome: RecordOutcome;

  constructor(options: { stores: Pick<Stores, 'attempts'>; recordOutcome: RecordOutcome }) {
    this.#attempts = options.stores.attempts;
    this.#recordOutcome = options.recordOutcome;
  }

  /** Implements AttemptCalls.loseAttempts. */
  async lose(
    holder: { machineId: string; workerId?: string },
    held: readonly AttemptKey[],
    cause: string,
  ): Promise<number> {
    const keep = new Set(held.map(nameOf));
    const current = await this.#attempts.listOf(holder.machineId, holder.workerId);
    const lost = current.filter((attempt) => !keep.has(nameOf(attempt)));
    const results = await Promise.all(
      lost.map((attempt) =>
        this.#recordOutcome({
          ...attempt,
          machineId: holder.machineId,
          kind: 'LOST',
          output: undefined,
          error: cause,
        }),
      ),
    );
    return results.filter((result) => result === 'recorded').length;
  }
}

function nameOf(key: AttemptKey): string {
  return `${key.endpointId}/${key.jobId}/${key.attempt}`;
}
