/** Reads streamed output: from a place of the reader's own, or from the place that all other readers of the job share. */
import { isJobId } from '../domain/job-id.ts';
import { READ_CHUNKS_BYTES_MAX, READ_CHUNKS_MAX, WAIT_MS_MAX } from '../domain/job-limits.ts';
import { isFinal } from '../domain/job-state.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Stores } from '../store/storage.ts';
import type { JobKey } from '../domain/job.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { ChunkCursor, ChunkPage } from './job-engine.ts';
import { JobSubscriptions } from './job-subscriptions.ts';
import { jobNotFound } from '../domain/job.ts';

/** What a reader asks for. */
export interface ReadChunksRequest {
  /** Undefined: the shared place, which moves on. */
  cursor: ChunkCursor | undefined;
  /** How long to wait for the first chunk, in milliseconds. */
  waitMs: number;
  /** 0 = as many as fit. */
  limit: number;
}

/** Readers who may wait at once on this replica. */
export const READERS_MAX = 50_000;
/** A waiting reader looks again without a notification after this many milliseconds. */
const POLL_PERIOD_MS = 1_500;

export class ReadChunks {
  readonly #chunks: Stores['chunks'];
  readonly #clock: Clock;
  readonly #subscriptions: JobSubscriptions;

  constructor(options: { stores: Pick<Stores, 'chunks'>; events: CoreEvents; clock: Clock }) {
    this.#chunks = options.stores.chunks;
    this.#clock = options.clock;
    this.#subscriptions = new JobSubscriptions(options.clock, READERS_MAX);
    options.events.on('chunks', (keys) => this.#subscriptions.notify(keys));
    options.events.on('settled', (keys) => this.#subscriptions.notify(keys));
  }

  /** Chunks as soon as there are some; none when the job is final, the wait is over or the signal aborts. JOB_NOT_FOUND. */
  async read(key: JobKey, request: ReadChunksRequest, signal: AbortSignal): Promise<ChunkPage> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    const limit = request.limit === 0 ? READ_CHUNKS_MAX : Math.min(request.limit, READ_CHUNKS_MAX);
    const untilMs = this.#clock.monotonicMs() + Math.min(request.waitMs, WAIT_MS_MAX);
    const subscription = this.#subscriptions.subscribe(key);
    try {
      for (;;) {
        const page = request.cursor ? await this.#readFrom(key, request.cursor, limit) : await this.#drain(key, limit);
        const leftMs = untilMs - this.#clock.monotonicMs();
        if (page.chunks.length > 0 || isFinal(page.state) || leftMs <= 0 || signal.aborted) return page;
        await subscription.wait(Math.min(leftMs, POLL_PERIOD_MS), signal);
      }
    } finally {
      subscription.close();
    }
  }

  async #readFrom(key: JobKey, cursor: ChunkCursor, limit: number): Promise<ChunkPage> {
    const found = await this.#chunks.read(key, cursor, limit, READ_CHUNKS_BYTES_MAX);
    if (!found) throw jobNotFound(key.jobId);
    const { chunks, state, error, more } = found;
    return { chunks, state, error, more, cursor: chunks.at(-1) ?? cursor };
  }

  /** Reads, then moves the shared place; when another reader moved it meanwhile, the chunks are his and this one reads again. */
  async #drain(key: JobKey, limit: number): Promise<ChunkPage> {
    for (;;) {
      const found = await this.#chunks.read(key, undefined, limit, READ_CHUNKS_BYTES_MAX);
      if (!found) throw jobNotFound(key.jobId);
      const { chunks, state, error, more, shared } = found;
      const last = chunks.at(-1);
      if (last && !(await this.#chunks.moveSharedPlace(key, shared, last))) continue;
      return { chunks, state, error, more, cursor: last ?? shared };
    }
  }
}
