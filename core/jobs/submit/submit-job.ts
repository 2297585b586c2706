/** Accepts jobs: validates, gives an id, stores in batches. The caller gets the job after the commit. */

import { Batcher, OverloadError } from '@slipway/kit/bytes/batcher';
import { ByteBudget } from '@slipway/kit/bytes/byte-budget';
import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Random } from '@slipway/kit/time/clock';
import type { Job } from '../../domain/jobs/job.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { NewJob } from '../../store/jobs/inserted-rows.ts';
import type { Stores } from '../../store/storage.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { ReadJob } from '../read/read-job.ts';
import type { EarlyRuns } from './early-runs.ts';
import type { EndpointFactsCache } from './endpoint-facts.ts';
import type { OutageTracker } from './outage-tracker.ts';
import type { KeyHashes, PreparedJob, PrepareOptions } from './prepare-job.ts';
import { prepareJob } from './prepare-job.ts';
import type { QueueGate } from './queue-gate.ts';
import type { Submission } from './submission.ts';
import type { SubmissionEntry, SubmitBatch } from './submit-batch.ts';

interface SubmitJobOptions extends PrepareOptions {
  stores: Pick<Stores, 'submissions'>;
  facts: EndpointFactsCache;
  gate: QueueGate;
  batch: SubmitBatch;
  early: EarlyRuns;
  outage: OutageTracker;
  reads: ReadJob;
  /** Validates user data in slices, fair by account. */
  checks: SlicedWork;
  tasks: TaskGroup;
  /** Default: no metrics. */
  meter?: EngineMeter;
  random: Random;
}

/** Jobs and bytes of one insert, concurrent inserts, and jobs and bytes that may wait. */
const BATCH_ITEMS_MAX = 500;
/** A batch is copied twice in one tick of the event loop, some 2 ms for 4 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const BATCHES_AT_ONCE = 2;
/** Jobs with a larger input are stored beside all others, which would wait for them for a tenth of a second. */
const WITH_OTHERS_BYTES_MAX = 1024 * 1024;
const WAITING_MAX = 20_000;
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

export class SubmitJob {
  readonly #options: SubmitJobOptions;
  readonly #batcher: Batcher<SubmissionEntry, Job>;
  readonly #large: Batcher<SubmissionEntry, Job>;
  readonly #budget: ByteBudget;

  constructor(options: SubmitJobOptions) {
    this.#options = options;
    this.#budget = new ByteBudget('submissions', WAITING_BYTES_MAX, options.meter?.budgets);
    const batcher = (name: string): Batcher<SubmissionEntry, Job> =>
      new Batcher({
        name,
        clock: options.clock,
        meter: options.meter?.batches,
        flush: (jobs) => options.batch.store(jobs),
        itemsMax: BATCH_ITEMS_MAX,
        bytesMax: BATCH_BYTES_MAX,
        bytesOf: ({ job }) => job.input.length,
        waitingMax: WAITING_MAX,
        flushesMax: BATCHES_AT_ONCE,
      });
    this.#batcher = batcher('submissions');
    this.#large = batcher('large submissions');
    options.early.onStore((run) => {
      this.#batcher.add({ job: run.job, run }).then(run.answer.resolve, (error: unknown) => {
        run.answer.reject(error);
        // It never reached a batch, which settles its runs itself.
        if (error instanceof OverloadError) options.batch.drop(run);
      });
    });
  }

  /**
   * Validates a submission. All its rejections come from here. Throws OverloadError if too much of its account waits
   * to be validated.
   */
  async prepare(submission: Submission): Promise<PreparedJob> {
    const { facts, gate, checks } = this.#options;
    const known = facts.get(submission.endpointId);
    const endpoint = known instanceof Promise ? await known : known;
    const checked = checks.run(
      endpoint.accountId,
      submission.input.length,
      prepareJob(submission, endpoint, this.#options),
    );
    const prepared = checked instanceof Promise ? await checked : checked;
    const admitted = gate.admit(endpoint);
    if (admitted) await admitted;
    return prepared;
  }

  /** Stores a prepared job. Resolves after the commit with it, or with the job that its id or key made earlier. */
  store(prepared: PreparedJob): Promise<Job> {
    const { job, hashes } = prepared;
    return this.#budget.hold(job.input.length, () =>
      hashes ? this.#storeKeyed(job, hashes) : (this.#runEarly(prepared) ?? this.#batcherOf(job).add({ job })),
    );
  }

  #batcherOf({ input }: NewJob): Batcher<SubmissionEntry, Job> {
    return input.length > WITH_OTHERS_BYTES_MAX ? this.#large : this.#batcher;
  }

  /** Begins an early run if that is possible. A submission that is repeated joins the run that it began. */
  #runEarly({ job, mayRunEarly }: PreparedJob): Promise<Job> | undefined {
    const { early, batch } = this.#options;
    const run = early.find(job) ?? (mayRunEarly ? batch.runEarly(job) : undefined);
    return run?.answer.promise;
  }

  async #storeKeyed(job: NewJob, hashes: KeyHashes): Promise<Job> {
    const { stores, batch, random, reads, outage } = this.#options;
    // Idempotent: a retry finds the job that it made itself.
    const insert = () => stores.submissions.insertKeyed({ job, ...hashes }, random.uuid());
    const result = await outage.persist(insert);
    if (result.is === 'reused') {
      throw new DomainError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used with another body. Use a new key for a new job.',
      );
    }
    if (result.is === 'existing')
      return await reads.read({ endpointId: job.endpointId, jobId: result.jobId }, { omitOutput: true });
    batch.announceQueued(result.stored, job);
    return result.stored.job;
  }
}
