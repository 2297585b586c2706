/** What one client sees of its job: asks for it, and records every answer. */
import type { Job } from '@slipway/core/domain/jobs/job';
import { isFinal, type JobState } from '@slipway/core/domain/jobs/job-state';
import type { Changed, HistoryEvent } from '../checker/history.ts';
import type { Answer, Asked, Asking } from './ask-replica.ts';
import { askReplica, isDecided } from './ask-replica.ts';

interface JobViewOptions extends Asking<Asked> {
  record(event: HistoryEvent): void;
}

export class JobView {
  readonly #options: JobViewOptions;
  readonly endpoint: string;
  /** The name of the client. */
  readonly #name: string;
  /** The job's id, once it is acknowledged. */
  job = '';

  constructor(options: JobViewOptions, endpoint: string, name: string) {
    this.#options = options;
    this.endpoint = endpoint;
    this.#name = name;
  }

  /** Reads the job's state once. `ttlMs` above 0 sets its remaining life. */
  async look(ttlMs = 0): Promise<JobState | null | undefined> {
    const fromMs = this.#options.world.nowMs;
    const key = { endpointId: this.endpoint, jobId: this.job };
    const answer = await askReplica(this.#options, (calls) => calls.get(key, { omitOutput: false, ttlMs }));
    if (ttlMs > 0) this.changed('ttl', fromMs, answer, ttlMs);
    return this.saw(fromMs, answer);
  }

  /** Records an operation on the job, and how it ended. */
  changed(is: Changed['is'], fromMs: number, answer: Answer<unknown>, ms = 0, job = this.job): void {
    const { world, record } = this.#options;
    const atMs = isDecided(answer) ? world.nowMs : undefined;
    const isDone = answer !== 'unknown' && 'value' in answer;
    record({ is, fromMs, atMs, job, endpoint: this.endpoint, done: isDone ? ms || 1 : 0 });
  }

  /**
   * Records what an answer says of the job, perhaps without its output. Returns its state; `null`: it is gone,
   * `undefined`: unknown.
   */
  saw(fromMs: number, answer: Answer<Job>, hasOutput = true): JobState | null | undefined {
    const { world, record } = this.#options;
    const seen = { is: 'seen' as const, fromMs, atMs: world.nowMs, job: this.job };
    if (answer === 'unknown') return undefined;
    if ('error' in answer) {
      if (answer.error.reason !== 'JOB_NOT_FOUND') return undefined;
      record({ ...seen, state: null, attempt: 0, output: '', error: '' });
      world.note(this.#name, 'not found', this.job);
      return null;
    }
    const { state, attempt, output, error } = answer.value;
    const text = hasOutput ? (output?.toString() ?? '') : undefined;
    record({ ...seen, state, attempt, output: text, error: error ?? '' });
    if (isFinal(state)) world.note(this.#name, state, this.job);
    return state;
  }
}
