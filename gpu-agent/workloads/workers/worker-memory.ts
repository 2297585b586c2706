/** GPU memory of one worker: where it is, and how its latest moves went. */
import type { Logger } from '@slipway/kit/log/logger';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { RunningWorkload } from '../../executors/executor.ts';
import type { HeldMemory } from '../../gpu-memory/compute-apps.ts';
import type { GpuMemory } from '../../gpu-memory/gpu-memory.ts';
import type { OffloadedMemory } from '../../gpu-memory/gpu-mover.ts';
import { bytesOf } from '../../gpu-memory/gpu-mover.ts';
import type { MoveFailure } from '../../gpu-memory/move-error.ts';
import { MoveError } from '../../gpu-memory/move-error.ts';
import type { WorkloadMemory } from '../workload-kind.ts';
import type { WorkerParts } from './worker-parts.ts';
import type { EndStatus } from './worker-want.ts';

/** Part of a worker's record for the next run of the agent. */
export interface MemoryRecord {
  /** A move is in progress. The next run ends the worker, because it cannot tell how far the move was. */
  moving?: true;
  /** It is offloaded. */
  offloaded?: OffloadedMemory;
}

/** A move that has ended well. */
interface CompletedMove {
  bytes: number;
  durationMs: number;
}

/** Dependencies of a worker's memory. */
interface WorkerMemoryOptions {
  workerId: string;
  endpointId: string;
  gpuMemory: GpuMemory;
  /** Called when a report or a record of the worker changes. */
  onChanged(): void;
  /** Resolves when the next run of the agent would find the worker as it is now. */
  recorded(): Promise<void>;
  /** Called when a move has failed, before the worker is ended. `reason` is a sentence for people. */
  onFailed(reason: string): void;
  logger: Logger;
}

export class WorkerMemory implements WorkloadMemory {
  readonly #options: WorkerMemoryOptions;
  #running: RunningWorkload | undefined;
  #isMoving = false;
  #offloaded: OffloadedMemory | undefined;
  #heldBytes = 0;
  #lastOffload: CompletedMove | undefined;
  #lastRestore: CompletedMove | undefined;
  #failure: MoveFailure | undefined;
  readonly #ended = new AbortController();

  /** `previous`: the record of a worker that runs from a previous agent. */
  constructor(options: WorkerMemoryOptions, previous?: MemoryRecord) {
    this.#options = options;
    this.#offloaded = previous?.offloaded;
    if (this.#offloaded) {
      this.#heldBytes = bytesOf(this.#offloaded);
      options.gpuMemory.adopted(options.workerId, this.#heldBytes);
    }
    if (previous?.moving) this.#failure = 'INTERRUPTED';
  }

  /** Nothing of the worker is on its GPUs. */
  get isOffloaded(): boolean {
    return this.#offloaded !== undefined;
  }

  /** GPU memory that it holds, or held before it was offloaded, in bytes. 0 if unknown. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get lastOffload(): CompletedMove | undefined {
    return this.#lastOffload;
  }

  get lastRestore(): CompletedMove | undefined {
    return this.#lastRestore;
  }

  /** Why a move failed. `undefined` if none did. */
  get failure(): MoveFailure | undefined {
    return this.#failure;
  }

  /** For the next run of the agent. */
  get record(): MemoryRecord {
    if (this.#isMoving) return { moving: true };
    return this.#offloaded ? { offloaded: this.#offloaded } : {};
  }

  async offload(running: RunningWorkload, wasFrozen: boolean): Promise<boolean> {
    return this.#move('offload', async ({ gpuMemory }) => {
      const { memory, ...move } = await gpuMemory.offload(this.#moved(running), wasFrozen);
      this.#offloaded = memory;
      this.#lastOffload = move;
      return move;
    });
  }

  async restore(running: RunningWorkload): Promise<boolean> {
    return this.#move('restore', async ({ gpuMemory }) => {
      const move = await gpuMemory.restore(this.#moved(running), this.#offloaded!);
      this.#offloaded = undefined;
      this.#lastRestore = move;
      return move;
    });
  }

  /** Records what the driver says about all processes of the machine. Never rejects. */
  async observe(held: readonly HeldMemory[]): Promise<void> {
    const own = await this.#running?.pids().catch(() => undefined);
    if (!own) return;
    const pids = new Set(own);
    const bytes = held.filter(({ pid }) => pids.has(pid)).reduce((sum, each) => sum + each.bytes, 0);
    if (!this.#isMoving && !this.#offloaded && this.#running) this.#record(bytes);
  }

  /** Records the bytes that it holds. Core plans moves, and waits for them, by this value. */
  #record(bytes: number): void {
    if (bytes === this.#heldBytes) return;
    this.#heldBytes = bytes;
    this.#options.onChanged();
  }

  started(running: RunningWorkload): void {
    this.#running = running;
  }

  ended(): void {
    this.#running = undefined;
    this.#ended.abort();
    this.#options.gpuMemory.release(this.#options.workerId);
  }

  async #move(
    direction: 'offload' | 'restore',
    run: (options: WorkerMemoryOptions) => Promise<CompletedMove>,
  ): Promise<boolean> {
    const { workerId, endpointId, onChanged, recorded, onFailed, logger } = this.#options;
    const ids = { workerId, endpointId };
    this.#isMoving = true;
    onChanged();
    await recorded();
    try {
      const { bytes, durationMs } = await run(this.#options);
      this.#heldBytes = bytes;
      this.#isMoving = false;
      logger.info({ ...ids, bytes, durationMs }, TEXTS[direction].done);
    } catch (error) {
      const { failure, message } = error instanceof MoveError ? error : new MoveError('DRIVER_ERROR', String(error));
      this.#failure = failure;
      logger.warn({ ...ids, failure, reason: message }, TEXTS[direction].failed);
      onFailed(`${TEXTS[direction].sentence}: ${message}.`);
      this.#isMoving = false;
      return false;
    }
    // A restored worker is reported when it runs again.
    if (direction === 'restore') return true;
    onChanged();
    await recorded();
    return true;
  }

  #moved(running: RunningWorkload): Parameters<GpuMemory['offload']>[0] {
    return {
      id: this.#options.workerId,
      pids: () => running.pids(),
      freeze: () => running.freeze(),
      thaw: () => running.thaw(),
      holds: (bytes) => this.#record(bytes),
      signal: this.#ended.signal,
    };
  }
}

/** Verdict on a worker whose move the previous run of the agent did not finish. */
export const INTERRUPTED: EndStatus = {
  state: WorkerState.STOPPED,
  reason: 'Its agent ended while its GPU memory was moved.',
};

/** A worker and its id, its GPUs and its listeners. */
interface WorkerWithGpus {
  readonly ids: { workerId: string; endpointId: string };
  readonly spec: { readonly gpuUuids: readonly string[] };
  notifyChanged(): void;
}

/** Returns the memory of a worker; `undefined` if it has no GPU. `end`: receives the verdict if a move fails. */
export function memoryOf(
  worker: WorkerWithGpus,
  { gpuMemory, recorded, logger }: Pick<WorkerParts<never>, 'gpuMemory' | 'recorded' | 'logger'>,
  end: { decide(verdict: EndStatus): void },
  previous?: MemoryRecord,
): WorkerMemory | undefined {
  if (worker.spec.gpuUuids.length === 0) return undefined;
  return new WorkerMemory(
    {
      ...worker.ids,
      gpuMemory,
      recorded,
      onChanged: () => worker.notifyChanged(),
      onFailed: (reason) => end.decide({ state: WorkerState.STOPPED, reason }),
      logger,
    },
    previous,
  );
}

const TEXTS = {
  offload: {
    done: 'a worker was offloaded',
    failed: 'a worker could not be offloaded and is ended',
    sentence: 'Its GPU memory could not be moved to host memory',
  },
  restore: {
    done: 'a worker was restored',
    failed: 'a worker could not be restored and is ended',
    sentence: 'Its GPU memory could not be restored',
  },
};
