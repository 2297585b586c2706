/** Runs the job of an OpenAI request. Cancels it when the client disconnects, unless the operator has disabled that. */
import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Chunk, ChunkCursor, Job } from '@slipway/proto/gen/slipway/v1/job';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import type { ReadChunksResponse, SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { isFinal } from '@slipway/proto/wire/final-state';
import { OUTPUT_BYTES_MAX, WAIT_MS_MAX } from '@slipway/proto/wire/limits';
import type { OpenCall } from '../core-client/pipeline-client.ts';
import type { OnPassedInput } from '../core-client/pipelined-jobs.ts';
import { LOG_START } from '../jobs/chunk-id.ts';
import { jobBytes, pageBytes } from '../jobs/job-bytes.ts';
import type { JobParts } from '../jobs/job-parts.ts';
import { whileAllowed } from '../jobs/job-parts.ts';
import type { LiveResponse } from '../jobs/live-response.ts';
import type { HeldAnswer, Reading } from '../plugins/limits/answer-budget.ts';

/** Options of the job. */
export interface OpenaiJobOptions {
  /** Id of the HTTP request. */
  requestId: string;
  apiKey: string;
  accountId: string;
  endpointId: string;
  input: Buffer;
  /** Trace context of the request. `undefined` if it is not recorded. */
  traceparent: string | undefined;
  live: LiveResponse;
  /** Reads a response with budget (plugins/answer-budget.ts). */
  hold<Answer>(reading: Reading<Answer>): Promise<HeldAnswer<Answer>>;
  /** Called when the input was passed on. */
  onPassed: OnPassedInput;
  /** Called when the job has an id. */
  onJob(id: string): void;
}

const CHUNKS_PER_READ = 1_000;
/** Result for a client that disconnected while it waited for budget. */
const GONE = { answer: undefined, release: (): void => undefined };

/** An OpenAI job. Every method throws CoreError. */
export class OpenaiJob {
  readonly #parts: JobParts;
  readonly #options: Omit<OpenaiJobOptions, 'input'>;
  /** Input of the job until it is submitted. */
  #input: Buffer;
  #id = '';

  constructor(parts: JobParts, { input, ...options }: OpenaiJobOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#input = input;
  }

  /** Runs work on `bytes` of output, fairly by account. */
  async work<Result>(bytes: number, work: Work<Result>): Promise<Result> {
    return await this.#parts.bodies.run(this.#options.accountId, bytes, work);
  }

  /** Submits the job and waits for its end. Returns `undefined` if the client disconnects first. */
  async finish(): Promise<Job | undefined> {
    const bytesOf = (job: Job | undefined): number => (job ? jobBytes(job) : 0);
    return (await this.#options.hold({ read: () => this.#finish(), reread: () => this.#get(), bytesOf })).answer;
  }

  async #finish(): Promise<Job | undefined> {
    const { jobs } = this.#parts;
    const { apiKey, endpointId, live, onPassed, onJob } = this.#options;
    let job = await this.#whileListening(jobs.submitAndWait(apiKey, this.#request(), onPassed));
    this.#id = job.id;
    onJob(job.id);
    while (!isFinal(job.state) && !live.closed) {
      job = await this.#whileListening(jobs.wait(apiKey, { endpointId, jobId: job.id, waitMs: WAIT_MS_MAX }));
    }
    return isFinal(job.state) ? job : this.leave();
  }

  /** Submits the job and yields its chunks page by page. */
  async *pages(): AsyncGenerator<ReadChunksResponse> {
    const { jobs } = this.#parts;
    const { apiKey, live, hold, onPassed, onJob } = this.#options;
    this.#id = (await jobs.submit(apiKey, this.#request())).id;
    onJob(this.#id);
    onPassed({ isHeld: false });
    let cursor: ChunkCursor = LOG_START;
    while (!live.closed) {
      const from = cursor;
      const reading = hold({ read: () => this.#whileListening(this.#read(from, WAIT_MS_MAX)), bytesOf: pageBytes });
      const { answer: page, release } = await reading.catch((error: unknown) => {
        if (live.closed) return GONE;
        throw error;
      });
      if (page === undefined || (live.closed && !isFinal(page.state))) break;
      yield page;
      release();
      if (isFinal(page.state) && !page.more) return;
      cursor = page.cursor ?? cursor;
    }
    await this.leave();
  }

  /** Returns all chunks of a final job that streamed without being asked to. `undefined` if they are too large. */
  async chunks(): Promise<Chunk[] | undefined> {
    const chunks: Chunk[] = [];
    let bytes = 0;
    // Several pages: the total size is not known yet.
    const bytesOf = (first: ReadChunksResponse): number => (first.more ? OUTPUT_BYTES_MAX : pageBytes(first));
    let { answer: page } = await this.#options.hold({ read: () => this.#read(LOG_START, 0).answer, bytesOf });
    for (;;) {
      chunks.push(...page.chunks);
      bytes += pageBytes(page);
      if (bytes > OUTPUT_BYTES_MAX) return undefined;
      if (!page.more) return chunks;
      page = await this.#read(page.cursor ?? LOG_START, 0).answer;
    }
  }

  /** Reads the job, with budget for its output. */
  async get(): Promise<Job> {
    return (await this.#options.hold({ read: () => this.#get(), bytesOf: jobBytes })).answer;
  }

  #get(): Promise<Job> {
    const { apiKey, endpointId } = this.#options;
    return this.#parts.jobs.get(apiKey, { endpointId, jobId: this.#id, omitOutput: false, ttlMs: 0 });
  }

  /** Cancels the job after the client has disconnected, unless the operator has disabled that. */
  async leave(): Promise<undefined> {
    const { jobs, config, logger } = this.#parts;
    const { apiKey, endpointId, requestId } = this.#options;
    if (!config.openaiCancelOnDisconnect || this.#id === '') return;
    await jobs.cancel(apiKey, endpointId, this.#id);
    logger.debug({ requestId, endpointId, jobId: this.#id }, 'the client stopped reading, job cancelled');
  }

  #read(cursor: ChunkCursor, waitMs: number): OpenCall<ReadChunksResponse> {
    const { apiKey, endpointId } = this.#options;
    return this.#parts.jobs.chunks(apiKey, { endpointId, jobId: this.#id, cursor, waitMs, limit: CHUNKS_PER_READ });
  }

  async #whileListening<Reply>(call: OpenCall<Reply>): Promise<Reply> {
    const takeBack = this.#options.live.whenGone(call.abandon);
    const { apiKey, endpointId } = this.#options;
    const watchKey = this.#parts.keys.access({ apiKey, endpointId, write: true, api: Api.JOBS });
    return whileAllowed(watchKey, call).finally(takeBack);
  }

  #request(): SubmitJobRequest {
    const { endpointId } = this.#options;
    const input = this.#input;
    this.#input = Buffer.alloc(0);
    const requestId = orderedUuid(this.#parts);
    const rest = { webhook: '', policy: undefined, s3Config: undefined, idempotencyKey: '' };
    return {
      endpointId,
      requestId,
      kind: SubmitKind.SYNC,
      input,
      waitMs: WAIT_MS_MAX,
      traceparent: this.#options.traceparent,
      ...rest,
    };
  }
}
