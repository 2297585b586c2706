/** Stores streamed output in batches and in order, and tracks which chunks are not stored yet. */

import { Batcher, OverloadError } from '@slipway/kit/bytes/batcher';
import { ByteBudget } from '@slipway/kit/bytes/byte-budget';
import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { JobKey, MachineAttempt } from '../../domain/jobs/job.ts';
import { byJob } from '../../domain/jobs/job.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import { persist } from '../../store/sql/transient.ts';
import type { Stores } from '../../store/storage.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { AttemptChunk } from './attempt-report.ts';
import { faultOfChunk } from './check-json.ts';

interface RecordChunksOptions {
  stores: Pick<Stores, 'chunks'>;
  events: CoreEvents;
  /** Validates user data in slices, fair by account. */
  checks: SlicedWork;
  /** Handles an invalid chunk: the job must not continue without it. Resolves after the commit. */
  onBroken(chunk: AttemptChunk, fault: string): Promise<unknown>;
  tasks: TaskGroup;
  clock: Clock;
  random: Random;
  /** Default: no metrics. */
  meter?: EngineMeter;
}

/** A batch is copied twice in one tick of the event loop, some 2 ms for 4 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Least bytes that a chunk counts as, so that a batch has at most 1,024 chunks. */
const CHUNK_BYTES_MIN = 4 * 1024;
/** Most chunks of one call that one statement stores. */
const SLICE_CHUNKS_MAX = 500;
const WAITING_MAX = 50_000;
const WAITING_BYTES_MAX = 128 * 1024 * 1024;

type Fault = string | undefined;

export class RecordChunks {
  readonly #options: RecordChunksOptions;
  readonly #batcher: Batcher<readonly AttemptChunk[], void>;
  readonly #flushed: ((chunks: number) => void) | undefined;
  readonly #budget: ByteBudget;
  /** The latest append of each endpoint and machine that is not stored yet. */
  readonly #pending = new Map<string, Promise<void>>();
  /** The latest append whose validation is still running: later chunks must not be stored before it. */
  readonly #checking = new Map<string, Promise<void>>();
  #unstored = 0;

  constructor(options: RecordChunksOptions) {
    this.#options = options;
    this.#batcher = new Batcher<readonly AttemptChunk[], void>({
      name: 'chunks',
      clock: options.clock,
      flush: (given) => this.#flush(given),
      itemsMax: WAITING_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: weightOf,
      waitingMax: WAITING_MAX,
    });
    this.#flushed = options.meter?.batches.watch('chunks', () => this.#unstored, WAITING_MAX);
    this.#budget = new ByteBudget('chunks', WAITING_BYTES_MAX, options.meter?.budgets);
  }

  /** Implements AttemptCalls.appendChunks. Throws OverloadError if too much is waiting; retry later. */
  append(chunks: readonly AttemptChunk[]): Promise<AttemptChunk[]> {
    if (this.#unstored > 0 && this.#unstored + chunks.length > WAITING_MAX)
      return Promise.reject(new OverloadError('chunks'));
    this.#unstored += chunks.length;
    const name = laneOf(chunks[0]!);
    const before = this.#pending.get(name);
    const result = this.#budget.hold(bytesOf(chunks), () => this.#checkAndStore(name, chunks, before));
    const done = (): void => {
      this.#unstored -= chunks.length;
      if (this.#pending.get(name) === stored) this.#pending.delete(name);
    };
    const stored = result.then(done, done);
    this.#pending.set(name, stored);
    return result;
  }

  /**
   * Resolves when all chunks appended before, for the attempt's endpoint and machine, are stored or have failed;
   * `undefined` if there are none.
   */
  pending(key: MachineAttempt): Promise<void> | undefined {
    return this.#pending.get(laneOf(key));
  }

  #checkAndStore(
    name: string,
    chunks: readonly AttemptChunk[],
    before: Promise<void> | undefined,
  ): Promise<AttemptChunk[]> {
    // Validated per endpoint, which is known without a lookup and keeps the order of an owner's chunks.
    const faults = chunks.map((chunk) =>
      this.#options.checks.run(chunk.endpointId, bytesOf([chunk]), faultOfChunk(chunk)),
    );
    const earlier = this.#checking.get(name);
    if (earlier || faults.some((fault) => fault instanceof Promise)) {
      const checked = Promise.all(faults.map(async (fault) => fault));
      return this.#storeChecked(name, chunks, { faults: checked, earlier, before });
    }
    return this.#store(chunks, faults as Fault[], before);
  }

  /** Stores chunks after their validation, and after earlier chunks: readers must never see a gap. */
  async #storeChecked(
    name: string,
    chunks: readonly AttemptChunk[],
    {
      faults,
      earlier,
      before,
    }: { faults: Promise<Fault[]>; earlier: Promise<void> | undefined; before: Promise<void> | undefined },
  ): Promise<AttemptChunk[]> {
    const { promise: checked, resolve } = Promise.withResolvers<void>();
    this.#checking.set(name, checked);
    let stored: Promise<AttemptChunk[]>;
    try {
      const [found] = await Promise.all([faults, earlier]);
      stored = this.#store(chunks, found, before);
    } finally {
      if (this.#checking.get(name) === checked) this.#checking.delete(name);
      resolve();
    }
    return await stored;
  }

  async #store(
    chunks: readonly AttemptChunk[],
    faults: readonly Fault[],
    before: Promise<void> | undefined,
  ): Promise<AttemptChunk[]> {
    const broken = firstBroken(chunks, faults);
    const sound =
      broken.size === 0 ? chunks : chunks.filter((chunk, index) => index < (broken.get(jobOf(chunk)) ?? Infinity));
    const added: Promise<void>[] = [];
    for (let from = 0; from < sound.length; from += SLICE_CHUNKS_MAX)
      added.push(this.#batcher.add(sound.slice(from, from + SLICE_CHUNKS_MAX)));
    await Promise.all(added);
    if (broken.size === 0) return [];
    // Earlier chunks must be stored before the job ends.
    await before;
    const indexes = [...broken.values()];
    for (const index of indexes) await this.#options.onBroken(chunks[index]!, faults[index]!);
    return indexes.map((index) => chunks[index]!);
  }

  async #flush(given: readonly (readonly AttemptChunk[])[]): Promise<undefined[]> {
    const { stores, events, clock, random, tasks } = this.#options;
    const sorted = given.flat().sort((a, b) => byJob(a, b) || a.number - b.number);
    this.#flushed?.(sorted.length);
    await persist(() => stores.chunks.append(sorted), { clock, random, forMs: Infinity, signal: tasks.signal });
    const keys: JobKey[] = [];
    for (const [index, chunk] of sorted.entries()) {
      if (index === 0 || byJob(sorted[index - 1]!, chunk) !== 0)
        keys.push({ endpointId: chunk.endpointId, jobId: chunk.jobId });
    }
    events.emit('chunks', keys);
    return given.map(() => undefined);
  }
}

/** Returns the index of the first invalid chunk of each job. */
function firstBroken(chunks: readonly AttemptChunk[], faults: readonly Fault[]): ReadonlyMap<string, number> {
  const broken = new Map<string, number>();
  for (const [index, fault] of faults.entries()) {
    if (fault !== undefined && !broken.has(jobOf(chunks[index]!))) broken.set(jobOf(chunks[index]!), index);
  }
  return broken;
}

function jobOf({ jobId, attempt }: AttemptChunk): string {
  return `${jobId}/${attempt}`;
}

function bytesOf(chunks: readonly AttemptChunk[]): number {
  return chunks.reduce((bytes, { output, metrics }) => bytes + output.length + (metrics?.length ?? 0), 0);
}

function weightOf(chunks: readonly AttemptChunk[]): number {
  return chunks.reduce((weight, chunk) => weight + Math.max(bytesOf([chunk]), CHUNK_BYTES_MIN), 0);
}

function laneOf({ machineId, endpointId }: MachineAttempt): string {
  return `${machineId}/${endpointId}`;
}
