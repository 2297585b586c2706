/**
 * Simulated clients. Each submits one job, again with the same request id until it is acknowledged, and then follows
 * it; some cancel it, retry it, stream it, or give the key of another one.
 */

import { ANNOUNCED_STATES, isFinal, type JobState } from '@slipway/core/domain/jobs/job-state';
import type { ChunkCursor } from '@slipway/core/jobs/read/chunk-page';
import { WaitStopper } from '@slipway/core/jobs/read/wait-stopper';
import type { HistoryEvent, Send } from '../checker/history.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { Answer, Asked, Asking } from './ask-replica.ts';
import { askReplica } from './ask-replica.ts';
import { JobView } from './job-view.ts';
import type { SimInput } from './sim-worker.ts';

export interface ClientOptions extends Asking<Asked> {
  /** Calls that only replicas answer. */
  core: Asking;
  /** It uses the queue API: there requests have no id, and a submission without a key is made once. Default: false. */
  isPublic?: boolean;
  record(event: HistoryEvent): void;
  /** Returns whether a webhook of the job has come. */
  isCalled(job: string): boolean;
}

/** Endpoint that always has a worker. A job of low priority starts none: elsewhere it could wait for ever. */
export const WARM_ENDPOINT = 'endpoint000001';

/** Choices of a client, made from the seed before it begins. */
export interface Plan {
  endpoint: string;
  request: string;
  key: string;
  input: SimInput;
  isSync: boolean;
  webhook: boolean;
  ttlMs: number | undefined;
  executionTimeoutMs: number | undefined;
  lowPriority: boolean;
  /** It cancels the job as soon as it sees it IN_PROGRESS: the claim's reply may still be under way. */
  cancelsOnSight: boolean;
  /** It never cancels its job by chance, and asks rarely. */
  isPatient: boolean;
}

/** How long handlers run, in milliseconds; some for longer than a lease. */
const USUAL = { least: 2, most: 400 };
const LONG = { share: 0.08, least: 3_000, most: 9_000 };
const LEASE_LONG = { share: 0.03, least: 12_000, most: 22_000 };
const PAUSE_MS = { least: 40, most: 600 };
/** A job that takes longer than its timeout never ends otherwise. */
const RETRIES_MAX = 3;
const SYNC_MS = 5_000;
/** The rest of life that some set. */
const TTL_MS = 2_000;
const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * 60_000;

export class SimClient {
  readonly #options: ClientOptions;
  readonly #plan: Plan;
  readonly #name: string;
  readonly #view: JobView;
  /** It has seen the end of its job, and nothing is left to do. */
  isOver = false;
  #isFinal = false;
  #retries = 0;

  /** A client with the key of another one submits the same body. `own`: what is not left to the seed. */
  constructor(
    options: ClientOptions,
    endpoint: string,
    name: string,
    { like, own }: { like?: SimClient; own?: Partial<Plan> } = {},
  ) {
    this.#options = options;
    this.#name = name;
    const plan = like ? { ...like.#plan, request: options.world.random.uuid() } : planOf(options.world, endpoint, name);
    this.#plan = { ...plan, ...own };
    this.#view = new JobView(options, this.#plan.endpoint, name);
    void this.#run();
  }

  get endpoint(): string {
    return this.#plan.endpoint;
  }

  /** True if its submission has an idempotency key. */
  get hasKey(): boolean {
    return this.#plan.key !== '';
  }

  /** The job, once it is acknowledged. */
  get job(): string {
    return this.#view.job;
  }

  /** Reads the job's state once. */
  look(): Promise<JobState | null | undefined> {
    return this.#view.look();
  }

  /** Reads the job's stream from the beginning, like a late reader. */
  readAgain(): Promise<void> {
    return this.#stream(`${this.#name} again`);
  }

  async #run(): Promise<void> {
    const { world, isCalled } = this.#options;
    await this.#submit();
    if (!this.#plan.isPatient && world.chance(0.12))
      world.after(world.between(0, 1_500), NATURE, () => void this.#cancel());
    if ((this.#plan.input.chunks ?? 0) > 0) void this.#stream(this.#name);
    for (;;) {
      await this.#rest();
      const state = await this.look();
      if (state === null) break;
      if (state === 'IN_PROGRESS' && this.#plan.cancelsOnSight) await this.#cancel();
      if (state === undefined || !isFinal(state)) continue;
      this.#isFinal = true;
      const mayRetry = this.#retries < RETRIES_MAX && (state === 'FAILED' || state === 'TIMED_OUT');
      if (mayRetry && world.chance(0.4)) await this.#retry();
      else if (world.chance(0.5)) break;
    }
    // Its end must stay what it was.
    await world.pause(world.between(500, 5_000), NATURE);
    const state = await this.#view.look(world.chance(0.1) ? TTL_MS : 0);
    while (this.#plan.webhook && state && ANNOUNCED_STATES.includes(state) && !isCalled(this.job))
      await world.pause(500, NATURE);
    this.isOver = true;
  }

  async #submit(): Promise<void> {
    const { world, record } = this.#options;
    const { endpoint, key, input, isSync, webhook, ttlMs, executionTimeoutMs, lowPriority } = this.#plan;
    const request = this.#options.isPublic ? '' : this.#plan.request;
    const submission = {
      endpointId: endpoint,
      requestId: this.#plan.request,
      kind: isSync ? ('SYNC' as const) : ('ASYNC' as const),
      input: Buffer.from(JSON.stringify(input)),
      webhook: webhook ? `http://hooks.sim/${endpoint}` : '',
      policy: { ttlMs, executionTimeoutMs, lowPriority },
      s3Config: undefined,
      waitMs: isSync ? SYNC_MS : 0,
      idempotencyKey: key,
    };
    const firstMs = world.nowMs;
    const sends: Send[] = [];
    for (let tries = 1; ; tries += 1) {
      const fromMs = world.nowMs;
      world.note(this.#name, 'submits', this.#plan.request);
      const never = new WaitStopper();
      // Another try without a key is another job.
      if (this.#options.isPublic && key === '')
        submission.input = Buffer.from(JSON.stringify({ ...input, client: `${input.client}.${tries}` }));
      const answer = await askReplica(
        this.#options,
        (calls) => (isSync ? calls.submitAndWait(submission, never) : calls.submit(submission)),
        { sends },
      );
      if (answer !== 'unknown' && 'value' in answer) {
        this.#view.job = answer.value.id;
        const times = { fromMs: firstMs, sends, atMs: world.nowMs };
        const event = { job: this.job, endpoint, request, key, webhook, ...times };
        const retentionMs = isSync ? 60_000 : RETENTION_MS;
        record({ is: 'acknowledged', ...event, sentTo: [], ttlMs: ttlMs ?? DAY_MS, retentionMs });
        world.note(this.#name, 'acknowledged', this.job);
        this.#view.saw(fromMs, answer, isSync);
        return;
      }
      await this.#rest();
    }
  }

  async #cancel(): Promise<void> {
    const fromMs = this.#options.world.nowMs;
    const answer = await this.#ask((calls) => calls.cancel({ endpointId: this.#plan.endpoint, jobId: this.job }));
    this.#view.changed('cancel', fromMs, answer);
    this.#view.saw(fromMs, answer, false);
  }

  async #retry(): Promise<void> {
    this.#retries += 1;
    const fromMs = this.#options.world.nowMs;
    const answer = await this.#ask((calls) => calls.retry({ endpointId: this.#plan.endpoint, jobId: this.job }));
    this.#view.changed('retry', fromMs, answer);
    this.#view.saw(fromMs, answer, false);
  }

  async #stream(reader: string): Promise<void> {
    const { world, record } = this.#options;
    const key = { endpointId: this.#plan.endpoint, jobId: this.job };
    const never = new WaitStopper();
    let cursor: ChunkCursor = { attempt: 0, number: 0 };
    for (;;) {
      const after = cursor;
      const answer = await askReplica(this.#options.core, (calls) =>
        calls.readChunks(key, { cursor, waitMs: 1_000, limit: 3 }, never),
      );
      if (answer !== 'unknown' && 'error' in answer && answer.error.reason === 'JOB_NOT_FOUND') return;
      if (answer === 'unknown' || !('value' in answer)) {
        await this.#rest();
        continue;
      }
      const page = answer.value;
      const chunks = page.chunks.map(({ attempt, number, output }) => ({ attempt, number, text: output.toString() }));
      const isLast = isFinal(page.state) && !page.more;
      record({ is: 'streamed', atMs: world.nowMs, job: this.job, reader, after, chunks, isLast });
      if (isLast) return;
      cursor = page.cursor;
      await this.#rest();
    }
  }

  #ask<Value>(call: (calls: Asked['calls']) => Promise<Value>): Promise<Answer<Value>> {
    return askReplica(this.#options, call);
  }

  #rest(): Promise<void> {
    const { world } = this.#options;
    const factor = this.#isFinal || this.#plan.isPatient ? 10 : 1;
    return world.pause(world.between(PAUSE_MS.least, PAUSE_MS.most) * factor, NATURE);
  }
}

function planOf(world: World, endpoint: string, name: string): Plan {
  const u = world.fraction();
  const isLong = u < LONG.share;
  const { least, most } = u < LEASE_LONG.share ? LEASE_LONG : isLong ? LONG : USUAL;
  const input: SimInput = { client: name, ms: world.between(least, most) };
  if (world.chance(0.08)) input.fails = true;
  if (world.chance(0.2)) input.chunks = 1 + Math.floor(world.fraction() * 8);
  return {
    endpoint,
    request: world.random.uuid(),
    key: world.chance(0.15) ? `key ${name}` : '',
    input,
    isSync: world.chance(0.2),
    webhook: world.chance(0.3),
    ttlMs: world.chance(0.05) ? Math.round(world.between(10_000, 20_000)) : undefined,
    executionTimeoutMs: u >= LEASE_LONG.share && isLong && world.chance(0.5) ? 5_000 : undefined,
    lowPriority: world.chance(0.1) && endpoint === WARM_ENDPOINT,
    cancelsOnSight: world.chance(0.15),
    isPatient: false,
  };
}
