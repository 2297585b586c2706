/** Takes attempts back from a machine or a worker that does not hold them any more. */
import { attemptsOf } from '../store/attempt-store.ts';
import type { Database } from '../store/database.ts';
import type { AttemptCalls } from './job-engine.ts';
import type { AttemptKey } from '../domain/job.ts';

export class LoseAttempts {
  readonly #database: Database;
  readonly #recordOutcome: AttemptCalls['recordOutcome'];

  constructor(options: { database: Database; recordOutcome: AttemptCalls['recordOutcome'] }) {
    this.#database = options.database;
    this.#recordOutcome = options.recordOutcome;
  }

  /** See AttemptCalls.loseAttempts. */
  async lose(holder: { machineId: string; workerId?: string }, held: readonly AttemptKey[], cause: string): Promise<number> {
    const keep = new Set(held.map(nameOf));
    const current = await attemptsOf(this.#database.hot, holder.machineId, holder.workerId);
    const lost = current.filter((attempt) => !keep.has(nameOf(attempt)));
    const verdicts = await Promise.all(lost.map((attempt) => this.#recordOutcome({
      ...attempt, machineId: holder.machineId, kind: 'LOST', output: undefined, error: cause,
    })));
    return verdicts.filter((verdict) => verdict === 'recorded').length;
  }
}

function nameOf(key: AttemptKey): string {
  return `${key.endpointId}/${key.jobId}/${key.attempt}`;
}
