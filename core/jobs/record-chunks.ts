/** Stores streamed output in batches, in order, and knows what of an attempt is still on its way. */
import { Batcher } from '../runtime/batcher.ts';
import { ByteBudget } from '../runtime/byte-budget.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { SlicedWork } from '../runtime/sliced-work.ts';
import type { TaskGroup } from '../runtime/task-group.ts';
import type { Stores } from '../store/storage.ts';
import { persist } from '../store/transient.ts';
import { faultOfChunk } from './check-json.ts';
import { byJob } from '../domain/job.ts';
import type { JobKey, MachineAttempt } from '../domain/job.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { EngineMeter } from './engine-meter.ts';
import type { AttemptChunk } from './job-engine.ts';

/** What recording chunks needs. */
export interface RecordChunksOptions {
  stores: Pick<Stores, 'chunks'>;
  events: CoreEvents;
  /** Checks of what users send, by account. */
  checks: SlicedWork;
  /** A chunk cannot be shown, and its job must not go on without it. Resolves after the commit. */
  onBroken(chunk: AttemptChunk, fault: string): Promise<unknown>;
  tasks: TaskGroup;
  clock: Clock;
  random: Random;
  /** Default: nobody counts. */
  meter?: EngineMeter;
}

const BATCH_ITEMS_MAX = 1_000;
/** A batch of bytes is copied twice in one turn of the loop, some 2 ms for 4 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const WAITING_MAX = 50_000;
const WAITING_BYTES_MAX = 128 * 1024 * 1024;

export class RecordChunks {
  readonly #options: RecordChunksOptions;
  readonly #batcher: Batcher<AttemptChunk, void>;
  readonly #budget = new ByteBudget('chunks', WAITING_BYTES_MAX);
  /** Latest chunk of each attempt that is not stored yet. */
  readonly #pending = new Map<string, Promise<void>>();

  constructor(options: RecordChunksOptions) {
    this.#options = options;
    this.#batcher = new Batcher<AttemptChunk, void>({
      name: 'chunks',
      meter: options.meter?.batches,
      clock: options.clock,
      flush: (chunks) => this.#flush(chunks),
      itemsMax: BATCH_ITEMS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: bytesOf,
      waitingMax: WAITING_MAX,
    });
  }

  /** See AttemptCalls.appendChunk. OverloadError: too much waits already; say it again later. */
  append(chunk: AttemptChunk): Promise<'stored' | 'refused'> {
    const name = nameOf(chunk);
    const before = this.pending(chunk);
    const result = this.#budget.hold(bytesOf(chunk), () => this.#checkAndStore(chunk, before));
    const stored = result.then(() => undefined);
    this.#pending.set(name, stored);
    const forget = (): void => { if (this.#pending.get(name) === stored) this.#pending.delete(name); };
    stored.then(forget, forget);
    return result;
  }

  /** Resolves when all chunks of an attempt that were given before are stored or have failed; undefined: there are none. */
  pending(key: MachineAttempt): Promise<void> | undefined {
    return this.#pending.get(nameOf(key))?.catch(() => {});
  }

  async #checkAndStore(chunk: AttemptChunk, before: Promise<void> | undefined): Promise<'stored' | 'refused'> {
    const { checks, onBroken } = this.#options;
    // By endpoint, which never has to be asked for: a reader must never get a chunk before the one in front of it, and an owner's work keeps its order.
    const checked = checks.run(chunk.endpointId, bytesOf(chunk), faultOfChunk(chunk));
    const fault = checked instanceof Promise ? await checked : checked;
    if (fault === undefined) {
      await this.#batcher.add(chunk);
      return 'stored';
    }
    await before;
    await onBroken(chunk, fault);
    return 'refused';
  }

  async #flush(chunks: readonly AttemptChunk[]): Promise<undefined[]> {
    const { stores, events, clock, random, tasks } = this.#options;
    const sorted = chunks.toSorted((a, b) => byJob(a, b) || a.number - b.number);
    await persist(() => stores.chunks.append(sorted), { clock, random, forMs: Infinity, signal: tasks.signal });
    const keys = new Map<string, JobKey>(sorted.map((chunk) => [`${chunk.endpointId}/${chunk.jobId}`, { endpointId: chunk.endpointId, jobId: chunk.jobId }]));
    events.emit('chunks', [...keys.values()]);
    return chunks.map(() => undefined);
  }
}

function bytesOf(chunk: AttemptChunk): number {
  return chunk.output.length + (chunk.metrics?.length ?? 0);
}

function nameOf(key: MachineAttempt): string {
  return `${key.machineId}/${key.endpointId}/${key.jobId}/${key.attempt}`;
}
