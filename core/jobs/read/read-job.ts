/** Reads jobs: many keys in one statement, large outputs one by one. */

import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { Job, JobKey } from '../../domain/jobs/job.ts';
import { jobNotFound } from '../../domain/jobs/job.ts';
import { isJobId } from '../../domain/jobs/job-id.ts';
import { checkRemainingLife } from '../../domain/jobs/job-policy.ts';
import type { Stores } from '../../store/storage.ts';

interface ReadRequest {
  key: JobKey;
  omitOutput: boolean;
}

/** A job of a batch. If `outputLeftOut`, it must be read alone. */
interface Found {
  job: Job;
  outputLeftOut: boolean;
}

/** Outputs up to this many bytes are read in the batch, so that a batch stays under 13 MB. */
const BATCH_OUTPUT_BYTES_MAX = 64 * 1024;
const BATCH_ITEMS_MAX = 200;
const BATCHES_AT_ONCE = 3;
const WHOLE_AT_ONCE = 4;
/** Inputs in memory at a time, and requests that may wait for them. Inputs are read for display only. */
const INPUTS_AT_ONCE = 2;
const INPUTS_WAITING_MAX = 500;
const WAITING_MAX = 50_000;

export class ReadJob {
  readonly #jobs: Stores['jobs'];
  readonly #batcher: Batcher<ReadRequest, Found>;
  readonly #whole: Batcher<JobKey, Job>;
  readonly #inputs: Batcher<JobKey, Buffer>;

  constructor({ jobs }: Pick<Stores, 'jobs'>, clock: Clock, meter?: BatchMeter) {
    this.#jobs = jobs;
    const parts = { clock, meter, waitingMax: WAITING_MAX };
    this.#batcher = new Batcher<ReadRequest, Found>({
      ...parts,
      name: 'reads',
      flush: (requests) => this.#readBatch(requests),
      itemsMax: BATCH_ITEMS_MAX,
      flushesMax: BATCHES_AT_ONCE,
    });
    this.#whole = new Batcher<JobKey, Job>({
      ...parts,
      name: 'large reads',
      flush: ([key]) => this.#readWhole(key!),
      itemsMax: 1,
      flushesMax: WHOLE_AT_ONCE,
    });
    this.#inputs = new Batcher<JobKey, Buffer>({
      ...parts,
      name: 'input reads',
      flush: async ([key]) => [(await this.#jobs.readInput(key!)) ?? jobNotFound(key!.jobId)],
      itemsMax: 1,
      waitingMax: INPUTS_WAITING_MAX,
      flushesMax: INPUTS_AT_ONCE,
    });
  }

  /** Returns the job. Throws JOB_NOT_FOUND. */
  async read(key: JobKey, options: { omitOutput: boolean; acquireMemory?: AcquireMemory | undefined }): Promise<Job> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    const found = await this.#batcher.add({ key, omitOutput: options.omitOutput });
    if (!found.outputLeftOut || options.omitOutput) return found.job;
    await options.acquireMemory?.();
    return await this.#whole.add(key);
  }

  /** Returns the submitted input. Throws JOB_NOT_FOUND, or OverloadError if too many inputs are being read. */
  async input(key: JobKey): Promise<Buffer> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    return await this.#inputs.add(key);
  }

  /**
   * Returns the job, then sets its remaining life if `ttlMs` is not 0: the caller still gets the result it releases.
   * `withMetadata`: reads its metadata too, which costs a statement. Throws JOB_NOT_FOUND, or INVALID_REQUEST for a bad
   * ttl.
   */
  async get(key: JobKey, options: GetOptions): Promise<Job> {
    const { ttlMs, withMetadata = false } = options;
    if (ttlMs !== 0) checkRemainingLife(ttlMs);
    const job = await this.read(key, options);
    if (ttlMs !== 0 && !(await this.#jobs.setRemainingLife(key, ttlMs))) throw jobNotFound(key.jobId);
    return withMetadata ? { ...job, metadata: await this.#jobs.readMetadata(key) } : job;
  }

  async #readBatch(requests: readonly ReadRequest[]): Promise<(Found | Error)[]> {
    const bytesMax = requests.map((request) => (request.omitOutput ? -1 : BATCH_OUTPUT_BYTES_MAX));
    const rows = await this.#jobs.read(
      requests.map((request) => request.key),
      bytesMax,
    );
    const found = new Map(rows.map((row) => [row.index, row]));
    return requests.map((request, index) => found.get(index) ?? jobNotFound(request.key.jobId));
  }

  async #readWhole(key: JobKey): Promise<(Job | Error)[]> {
    return [(await this.#jobs.readWhole(key)) ?? jobNotFound(key.jobId)];
  }
}

/** Waits until the caller may hold a large output in memory. */
export type AcquireMemory = () => Promise<void>;

/** How to read a job. */
export interface GetOptions {
  omitOutput: boolean;
  /** New remaining life in milliseconds. 0: unchanged. */
  ttlMs: number;
  /** Default: no metadata. */
  withMetadata?: boolean | undefined;
  acquireMemory?: AcquireMemory;
}
