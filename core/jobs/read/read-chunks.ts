/**
 * Reads streamed output: from the reader's own cursor, or from the cursor that all other readers of the job share.
 * One statement serves readers of many jobs, because one stored batch wakes them together.
 */

import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { JobKey } from '../../domain/jobs/job.ts';
import { byJob, jobNotFound } from '../../domain/jobs/job.ts';
import { isJobId } from '../../domain/jobs/job-id.ts';
import { READ_CHUNKS_BYTES_MAX, READ_CHUNKS_MAX, WAIT_MS_MAX } from '../../domain/jobs/job-limits.ts';
import { isFinal } from '../../domain/jobs/job-state.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { ChunkPageBounds, ChunkPageRequest, ChunkRead } from '../../store/jobs/chunk-pages.ts';
import type { Stores } from '../../store/storage.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { ChunkCursor, ChunkPage } from './chunk-page.ts';
import { JobSubscriptions } from './job-subscriptions.ts';
import type { AcquireMemory } from './read-job.ts';
import type { WaitStopper } from './wait-stopper.ts';

interface ReadChunksOptions {
  stores: Pick<Stores, 'chunks'>;
  events: CoreEvents;
  /** Default: no metrics. */
  meter?: EngineMeter | undefined;
  clock: Clock;
}

/** A read request. */
interface ReadChunksRequest {
  /** `undefined` reads from the shared cursor and advances it. */
  cursor: ChunkCursor | undefined;
  /** How long to wait for the first chunk, in milliseconds. */
  waitMs: number;
  /** Most chunks; 0 means as many as fit. */
  limit: number;
}

/** Result of one read; `undefined` if another reader advanced the shared cursor first, so read again. */
type Found = ChunkRead | undefined;

/** Readers that may wait at once on this replica. */
export const READERS_MAX = 50_000;
/** A waiting reader polls after this many milliseconds without a notification. */
const POLL_PERIOD_MS = 1_500;
/** Limits of one reader in a shared statement, so that its result stays under 13 MB; larger pages are read alone. */
const SHARED_BOUNDS: ChunkPageBounds = { chunksMax: 100, bytesMax: 64 * 1024, allOrNothing: true };
const SHARED_READERS_MAX = 200;
const SHARED_AT_ONCE = 2;
const ALONE_BOUNDS: ChunkPageBounds = {
  chunksMax: READ_CHUNKS_MAX,
  bytesMax: READ_CHUNKS_BYTES_MAX,
  allOrNothing: false,
};
const ALONE_AT_ONCE = 4;

export class ReadChunks {
  readonly #chunks: Stores['chunks'];
  readonly #clock: Clock;
  readonly #subscriptions: JobSubscriptions;
  readonly #shared: Batcher<ChunkPageRequest, Found>;
  readonly #alone: Batcher<ChunkPageRequest, Found>;

  constructor({ stores, events, clock, meter }: ReadChunksOptions) {
    this.#chunks = stores.chunks;
    this.#clock = clock;
    this.#subscriptions = new JobSubscriptions(clock, READERS_MAX);
    const parts = { meter: meter?.batches, clock, waitingMax: READERS_MAX };
    this.#shared = new Batcher<ChunkPageRequest, Found>({
      ...parts,
      name: 'chunk reads',
      flush: (requests) => this.#read(requests, SHARED_BOUNDS),
      itemsMax: SHARED_READERS_MAX,
      flushesMax: SHARED_AT_ONCE,
    });
    this.#alone = new Batcher<ChunkPageRequest, Found>({
      ...parts,
      name: 'large chunk reads',
      flush: (requests) => this.#read(requests, ALONE_BOUNDS),
      itemsMax: 1,
      flushesMax: ALONE_AT_ONCE,
    });
    events.on('chunks', (keys) => this.#subscriptions.notify(keys));
    events.on('settled', (keys) => this.#subscriptions.notify(keys));
  }

  /**
   * Returns chunks as soon as there are some; none if the job is final, the wait is over or stopped. Throws
   * JOB_NOT_FOUND.
   */
  async read(
    key: JobKey,
    request: ReadChunksRequest,
    stopper: WaitStopper,
    acquireMemory?: AcquireMemory,
  ): Promise<ChunkPage> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    const limit = request.limit === 0 ? READ_CHUNKS_MAX : Math.min(request.limit, READ_CHUNKS_MAX);
    const untilMs = this.#clock.monotonicMs() + Math.min(request.waitMs, WAIT_MS_MAX);
    const subscription = this.#subscriptions.subscribe(key);
    let hasMemory = false;
    const enter = async (): Promise<void> => {
      if (!hasMemory) await acquireMemory?.();
      hasMemory = true;
    };
    try {
      for (;;) {
        const page = await this.#page({ ...key, after: request.cursor, limit }, enter);
        const leftMs = untilMs - this.#clock.monotonicMs();
        // If another reader took the large page, return: memory must not be held during a wait.
        if (page.chunks.length > 0 || isFinal(page.state) || leftMs <= 0 || stopper.stopped || hasMemory) return page;
        await subscription.wait(Math.min(leftMs, POLL_PERIOD_MS), stopper);
      }
    } finally {
      subscription.close();
    }
  }

  /** Reads in a shared statement, or alone if the page exceeds the shared limits. */
  async #page(request: ChunkPageRequest, enter: AcquireMemory): Promise<ChunkPage> {
    for (;;) {
      let found = await this.#shared.add(request);
      if (found?.leftOut) {
        await enter();
        found = await this.#alone.add(request);
      }
      if (!found) continue;
      const { chunks, state, error, more, shared } = found;
      return { chunks, state, error, more, cursor: chunks.at(-1) ?? request.after ?? shared };
    }
  }

  async #read(requests: readonly ChunkPageRequest[], bounds: ChunkPageBounds): Promise<(Found | Error)[]> {
    const distinct = distinctReads(requests);
    const reads = await this.#chunks.read(distinct, bounds);
    const found = new Map(distinct.map((request, index) => [request, reads[index]]));
    return requests.map((request) => {
      if (!found.has(request)) return undefined;
      const read = found.get(request);
      if (!read) return jobNotFound(request.jobId);
      return read.taken ? read : undefined;
    });
  }
}

/**
 * Returns the requests in statement order, the first one only of each shared cursor: the others find what comes
 * after.
 */
function distinctReads(requests: readonly ChunkPageRequest[]): ChunkPageRequest[] {
  const shared = new Set<string>();
  return requests
    .filter(({ endpointId, jobId, after }) => {
      if (after) return true;
      const name = `${endpointId}/${jobId}`;
      const isFirst = !shared.has(name);
      shared.add(name);
      return isFirst;
    })
    .sort(byJob);
}
