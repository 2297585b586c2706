/** Job calls of the facades: small ones over the pipeline, large submissions and rare calls as calls of their own. */
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { freeSubmitJobRequest, prepareSubmitJobRequest } from '@slipway/kit/net/large-message';
import type { Clock } from '@slipway/kit/time/clock';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import type {
  CancelJobsRequest,
  CancelJobsResponse,
  GetHealthResponse,
  GetJobLogRequest,
  GetJobLogResponse,
  GetJobRequest,
  JobServiceClient,
  JobServiceExplainResponse,
  ListErrorsRequest,
  ListErrorsResponse,
  ListJobsRequest,
  ListJobsResponse,
  ReadChunksRequest,
  ReadChunksResponse,
  RetryJobsRequest,
  RetryJobsResponse,
  SearchJobsRequest,
  SearchJobsResponse,
  SubmitJobRequest,
  WaitJobRequest,
} from '@slipway/proto/gen/slipway/v1/job_service';
import { isFinal } from '@slipway/proto/wire/final-state';
import { SIDE_STREAM_BYTES_MIN } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import type { OpenCall, PipelineClient } from './pipeline-client.ts';
import type { ReplyMessage } from './pipeline-ticket.ts';
import type { ServiceCalls } from './service-calls.ts';

/** Time for one try of a submission of up to 20 MiB, in milliseconds. */
const LARGE_SUBMIT_MS = 30_000;

/** Receives whether the call still holds the input, and so the body that the input is a part of. */
export type OnPassedInput = (input: { isHeld: boolean }) => void;

/** Pipelined calls of the job service. Every method throws CoreError. */
export class PipelinedJobs {
  readonly #pipeline: PipelineClient;
  readonly #unary: ServiceCalls<JobServiceClient>;
  readonly #clock: Clock;
  /** Encodes large submissions. Their memory is counted as that of their bodies. */
  readonly #encoding: SlicedWork;

  constructor(pipeline: PipelineClient, unary: ServiceCalls<JobServiceClient>, clock: Clock) {
    this.#pipeline = pipeline;
    this.#unary = unary;
    this.#clock = clock;
    this.#encoding = new SlicedWork({ name: 'submissions', bytesMax: Infinity, ownerBytesMax: Infinity, clock });
  }

  /** Stores a job. The request must carry a request_id, which makes it safe to send again. */
  async submit(apiKey: string, request: SubmitJobRequest): Promise<Job> {
    if (isLarge(request)) return this.#submitAlone(apiKey, request);
    return jobOf(await this.#pipeline.open(apiKey, { $case: 'submit', value: request }).answer);
  }

  /**
   * Stores a job and waits for its end, at most `request.waitMs`. `onPassed` is called once the input was passed on. A
   * small one is held until the end of the call, which may send it again.
   */
  submitAndWait(apiKey: string, request: SubmitJobRequest, onPassed: OnPassedInput = () => undefined): OpenCall<Job> {
    if (isLarge(request)) return this.#submitAloneAndWait(apiKey, request, onPassed);
    const { waitMs } = request;
    const call = jobCall(this.#pipeline.open(apiKey, { $case: 'submitAndWait', value: request }, { waitMs }));
    onPassed({ isHeld: true });
    return call;
  }

  /** Reads a job. */
  async get(apiKey: string, request: GetJobRequest): Promise<Job> {
    return jobOf(await this.#pipeline.open(apiKey, { $case: 'get', value: request }).answer);
  }

  /** Waits for a job's end. */
  wait(apiKey: string, request: WaitJobRequest): OpenCall<Job> {
    return jobCall(this.#pipeline.open(apiKey, { $case: 'wait', value: request }, { waitMs: request.waitMs }));
  }

  /**
   * Reads streamed output. Without a cursor it moves the job's shared cursor, so a call with an unknown outcome must
   * not be retried.
   */
  chunks(apiKey: string, request: ReadChunksRequest): OpenCall<ReadChunksResponse> {
    const repeatable = request.cursor !== undefined;
    const call = this.#pipeline.open(
      apiKey,
      { $case: 'chunks', value: request },
      { waitMs: request.waitMs, repeatable },
    );
    return { answer: call.answer.then(chunksOf), abandon: call.abandon };
  }

  /** Cancels a job. */
  async cancel(apiKey: string, endpointId: string, jobId: string): Promise<Job> {
    return jobOf(await this.#pipeline.open(apiKey, { $case: 'cancel', value: { endpointId, jobId } }).answer);
  }

  /** Queues a failed job again. Not repeatable: the second try would find it queued already. */
  async retry(apiKey: string, endpointId: string, jobId: string): Promise<Job> {
    const response = await this.#unary.call(
      (client) => client.retryJob,
      { endpointId, jobId },
      { apiKey, repeatable: false },
    );
    return present(response.job);
  }

  /** Cancels the next jobs that match a filter. Idempotent. */
  cancelMany(apiKey: string, request: CancelJobsRequest): Promise<CancelJobsResponse> {
    return this.#unary.call((client) => client.cancelJobs, request, { apiKey, repeatable: true });
  }

  /** Queues the next jobs that match a filter again. Idempotent. */
  retryMany(apiKey: string, request: RetryJobsRequest): Promise<RetryJobsResponse> {
    return this.#unary.call((client) => client.retryJobs, request, { apiKey, repeatable: true });
  }

  /** Removes queued jobs. Not repeatable: a second answer would not count the jobs that the first call removed. */
  async purge(apiKey: string, endpointId: string): Promise<number> {
    const response = await this.#unary.call(
      (client) => client.purgeQueue,
      { endpointId },
      { apiKey, repeatable: false },
    );
    return response.removed;
  }

  /** Lists jobs. */
  list(apiKey: string, request: ListJobsRequest): Promise<ListJobsResponse> {
    return this.#unary.call((client) => client.listJobs, request, { apiKey, repeatable: true });
  }

  /** Finds jobs of all endpoints. */
  search(apiKey: string, request: SearchJobsRequest): Promise<SearchJobsResponse> {
    return this.#unary.call((client) => client.searchJobs, request, { apiKey, repeatable: true });
  }

  /** Lists error groups of failed jobs. */
  errors(apiKey: string, request: ListErrorsRequest): Promise<ListErrorsResponse> {
    return this.#unary.call((client) => client.listErrors, request, { apiKey, repeatable: true });
  }

  /** Explains the state of a job. */
  explain(apiKey: string, endpointId: string, jobId: string): Promise<JobServiceExplainResponse> {
    return this.#unary.call((client) => client.explain, { endpointId, jobId }, { apiKey, repeatable: true });
  }

  /** Reads the log that workers wrote while they ran a job. */
  log(apiKey: string, request: GetJobLogRequest): Promise<GetJobLogResponse> {
    return this.#unary.call((client) => client.getJobLog, request, { apiKey, repeatable: true });
  }

  /** Counts jobs and workers. */
  health(apiKey: string, endpointId: string): Promise<GetHealthResponse> {
    return this.#unary.call((client) => client.getHealth, { endpointId }, { apiKey, repeatable: true });
  }

  async #submitAlone(apiKey: string, request: SubmitJobRequest): Promise<Job> {
    const options = { apiKey, repeatable: true, tryMs: LARGE_SUBMIT_MS };
    await this.#encoding.run(apiKey, request.input.length, prepareSubmitJobRequest(request));
    const response = await this.#unary.call((client) => client.submitJob, request, options);
    freeSubmitJobRequest(request);
    return present(response.job);
  }

  #submitAloneAndWait(apiKey: string, request: SubmitJobRequest, onPassed: OnPassedInput): OpenCall<Job> {
    let abandoned = false;
    let waiting: OpenCall<Job> | undefined;
    const startedMs = this.#clock.monotonicMs();
    // The code below must not reference the request: its input must not stay in memory during the wait.
    const { endpointId, waitMs } = request;
    const stored = this.#submitAlone(apiKey, request);
    const run = async (): Promise<Job> => {
      const job = await stored;
      onPassed({ isHeld: false });
      const leftMs = Math.round(waitMs - (this.#clock.monotonicMs() - startedMs));
      if (abandoned || leftMs <= 0 || isFinal(job.state)) return job;
      waiting = this.wait(apiKey, { endpointId, jobId: job.id, waitMs: leftMs });
      return waiting.answer;
    };
    const abandon = (): void => {
      abandoned = true;
      waiting?.abandon();
    };
    return { answer: run(), abandon };
  }
}

function isLarge(request: SubmitJobRequest): boolean {
  return request.input.length > SIDE_STREAM_BYTES_MIN;
}

function jobCall(call: OpenCall<ReplyMessage>): OpenCall<Job> {
  return { answer: call.answer.then(jobOf), abandon: call.abandon };
}

function jobOf(reply: ReplyMessage): Job {
  if (reply.$case === 'chunks' || reply.$case === 'checkAccess')
    throw new CoreError('INTERNAL', 'core answered another call');
  return present(reply.value.job);
}

function chunksOf(reply: ReplyMessage): ReadChunksResponse {
  if (reply.$case !== 'chunks') throw new CoreError('INTERNAL', 'core answered another call');
  return reply.value;
}

function present(job: Job | undefined): Job {
  if (job === undefined) throw new CoreError('INTERNAL', 'core answered without a job');
  return job;
}
