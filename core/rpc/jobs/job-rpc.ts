/** The calls that can be made alone or on a pipeline: check the key, call the use case, encode. */

import { SharedPermits } from '@slipway/kit/lifecycle/shared-permits';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { CheckAccessRequest, CheckAccessResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import type {
  CancelJobRequest,
  CancelJobResponse,
  GetJobRequest,
  GetJobResponse,
  ReadChunksRequest,
  ReadChunksResponse,
  SubmitJobRequest,
  SubmitJobResponse,
  WaitJobRequest,
  WaitJobResponse,
} from '@slipway/proto/gen/slipway/v1/job_service';
import type { Access } from '../../access/access.ts';
import type { Job } from '../../domain/jobs/job.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { JobCalls } from '../../jobs/job-engine.ts';
import type { ChunkPage } from '../../jobs/read/chunk-page.ts';
import { READERS_MAX } from '../../jobs/read/read-chunks.ts';
import type { AcquireMemory } from '../../jobs/read/read-job.ts';
import { WAITERS_MAX } from '../../jobs/read/wait-job.ts';
import type { WaitStopper } from '../../jobs/read/wait-stopper.ts';
import type { Submission } from '../../jobs/submit/submission.ts';
import type { AccessChecks } from '../accounts/access-checks.ts';
import { chunkPageToMessage, jobToMessage, submissionFromMessage } from './job-messages.ts';

interface JobRpcOptions {
  calls: JobCalls;
  access: Access;
  checks: AccessChecks;
  /** Default: nothing is traced. */
  tracing?: Tracing | undefined;
  /** Most calls that wait for a job at once, shared between accounts. Default: as many as the replica allows. */
  waitersMax?: number;
  /** Most calls that read chunks at once, shared between accounts. Default: as many as the replica allows. */
  readersMax?: number;
}

/** The calls. All fail with DomainError and similar errors; the caller converts them to statuses. */
export class JobRpc {
  readonly #calls: JobCalls;
  readonly #access: Access;
  readonly #checks: AccessChecks;
  readonly #tracing: Tracing | undefined;
  /** Permits per account: no account may take all of them, however many calls it makes. */
  readonly #waiters: SharedPermits;
  readonly #readers: SharedPermits;

  constructor({ calls, access, checks, tracing, waitersMax = WAITERS_MAX, readersMax = READERS_MAX }: JobRpcOptions) {
    this.#tracing = tracing;
    this.#waiters = new SharedPermits(waitersMax);
    this.#readers = new SharedPermits(readersMax);
    this.#calls = calls;
    this.#access = access;
    this.#checks = checks;
  }

  checkAccess(request: CheckAccessRequest, apiKey: string): Promise<CheckAccessResponse> {
    return this.#checks.check(request, apiKey);
  }

  async submit(request: SubmitJobRequest, apiKey: string): Promise<SubmitJobResponse> {
    const grant = this.#access.check(apiKey, { api: 'JOBS', endpointId: request.endpointId, write: true });
    if (grant instanceof Promise) await grant;
    return { job: jobToMessage(await this.#traced(request, (submission) => this.#calls.submit(submission))) };
  }

  /** Submits a job and waits for its end. `onStored`: see JobCalls. `isFirstSend`: see Submission; default false. */
  async submitAndWait(
    request: SubmitJobRequest,
    apiKey: string,
    stopper: WaitStopper,
    { onStored, isFirstSend = false }: { onStored?: (job: Job) => void; isFirstSend?: boolean } = {},
  ): Promise<WaitJobResponse> {
    const { accountId } = await this.#access.check(apiKey, {
      api: 'JOBS',
      endpointId: request.endpointId,
      write: true,
    });
    const job = await shared(this.#waiters, accountId, () =>
      this.#traced(request, (submission) => {
        submission.isFirstSend = isFirstSend;
        return this.#calls.submitAndWait(submission, stopper, onStored);
      }),
    );
    return { job: jobToMessage(job) };
  }

  async #traced(request: SubmitJobRequest, submit: (submission: Submission) => Promise<Job>): Promise<Job> {
    const submission = submissionFromMessage(request);
    const trace = this.#tracing?.child('submit', 'server', submission.traceparent, {
      'slipway.endpoint.id': request.endpointId,
    });
    if (!trace) return submit(submission);
    try {
      submission.traceparent = trace.traceparent;
      const job = await submit(submission);
      trace.set({ 'slipway.job.id': job.id, 'slipway.job.state': job.state });
      trace.end();
      return job;
    } catch (error) {
      trace.end(error instanceof DomainError ? error.reason : 'INTERNAL');
      throw error;
    }
  }

  async get(
    { endpointId, jobId, omitOutput, ttlMs, includeMetadata: withMetadata }: GetJobRequest,
    apiKey: string,
    acquireMemory?: AcquireMemory,
  ): Promise<GetJobResponse> {
    const grant = this.#access.check(apiKey, { api: 'JOBS', endpointId, write: ttlMs !== 0 });
    if (grant instanceof Promise) await grant;
    return {
      job: jobToMessage(
        await this.#calls.get(
          { endpointId, jobId },
          { omitOutput, ttlMs, withMetadata, ...(acquireMemory ? { acquireMemory } : {}) },
        ),
      ),
    };
  }

  async wait(
    { endpointId, jobId, waitMs }: WaitJobRequest,
    apiKey: string,
    stopper: WaitStopper,
    acquireMemory?: AcquireMemory,
  ): Promise<WaitJobResponse> {
    const { accountId } = await this.#access.check(apiKey, { api: 'JOBS', endpointId, write: false });
    return {
      job: jobToMessage(
        await shared(this.#waiters, accountId, () =>
          this.#calls.wait({ endpointId, jobId }, waitMs, stopper, acquireMemory),
        ),
      ),
    };
  }

  async chunks(
    request: ReadChunksRequest,
    apiKey: string,
    stopper: WaitStopper,
    acquireMemory?: AcquireMemory,
  ): Promise<ReadChunksResponse> {
    const { endpointId, jobId, cursor, waitMs, limit } = request;
    const { accountId } = await this.#access.check(apiKey, { api: 'JOBS', endpointId, write: false });
    if (limit < 0 || waitMs < 0) throw new DomainError('INVALID_REQUEST', 'limit and wait_ms must not be negative');
    const read = (): Promise<ChunkPage> =>
      this.#calls.readChunks({ endpointId, jobId }, { cursor, waitMs, limit }, stopper, acquireMemory);
    return chunkPageToMessage(await shared(this.#readers, accountId, read));
  }

  async cancel({ endpointId, jobId }: CancelJobRequest, apiKey: string): Promise<CancelJobResponse> {
    const grant = this.#access.check(apiKey, { api: 'JOBS', endpointId, write: true });
    if (grant instanceof Promise) await grant;
    return { job: jobToMessage(await this.#calls.cancel({ endpointId, jobId })) };
  }
}

/**
 * Holds one of the account's permits during a call. Throws RATE_LIMITED if its share is in use; nothing was done then.
 */
async function shared<Answer>(permits: SharedPermits, accountId: string, call: () => Promise<Answer>): Promise<Answer> {
  if (!permits.tryAcquire(accountId)) {
    throw new DomainError(
      'RATE_LIMITED',
      'The account has so many waiting calls that none is left to it while others need the rest; try again shortly.',
    );
  }
  try {
    return await call();
  } finally {
    permits.release(accountId);
  }
}
