/**
 * GPU memory of this machine's workers: whether it can be moved to host memory, the budget for it, and the moves
 * themselves.
 */
import { accessSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { DriverQuery } from '../inventory/ask-driver.ts';
import type { MachineGpu } from '../inventory/machine-gpu.ts';
import type { Broker } from './broker.ts';
import type { HeldMemory } from './compute-apps.ts';
import { readFreeMemory, readHeldMemory } from './compute-apps.ts';
import type { MovedWorker, OffloadedMemory } from './gpu-mover.ts';
import { GpuMover } from './gpu-mover.ts';
import type { HelperPool } from './helper-pool.ts';
import type { MoveFailure } from './move-error.ts';
import { MoveError } from './move-error.ts';
import { offloadFault } from './offload-support.ts';
import { sharedRead } from './shared-read.ts';
import { StandbyMemory } from './standby-memory.ts';

/** Called when a move has ended: in milliseconds and bytes, or with the failure. */
export type OnMove = (
  direction: 'offload' | 'restore',
  result: { durationMs: number; bytes: number } | MoveFailure,
) => void;

/** Dependencies of GpuMemory. */
interface GpuMemoryOptions {
  /** Returns the host memory for offloaded workers, in bytes. It may change. */
  budgetBytes(): number;
  /** Called when the machine turns out not to support moves. */
  onUnsupported(): void;
  onMove: OnMove;
  /** Runs nvidia-smi. */
  broker: Pick<Broker, 'ask' | 'close'>;
  helpers: HelperPool;
  clock: Clock;
  logger: Logger;
}

export class GpuMemory {
  /** Runs nvidia-smi in another process. */
  readonly ask: DriverQuery;
  readonly #options: GpuMemoryOptions;
  readonly #helpers: HelperPool;
  readonly #memory: StandbyMemory;
  readonly #mover: GpuMover;
  #fault = 'not checked yet';
  #hasMoved = false;
  /** Why the driver refused a move of this machine; empty if it did not. Kept until the agent ends. */
  #refusal = '';

  constructor(options: GpuMemoryOptions) {
    this.#options = options;
    this.ask = options.broker.ask;
    this.#helpers = options.helpers;
    this.#memory = new StandbyMemory(
      () => options.budgetBytes(),
      () => ({ total: totalmem(), available: freemem() }),
    );
    this.#mover = new GpuMover({
      helpers: this.#helpers,
      memory: this.#memory,
      readHeldMemory: sharedRead(() => readHeldMemory(this.ask)),
      readFreeMemory: sharedRead(() => readFreeMemory(this.ask)),
      isVisible,
      clock: options.clock,
    });
  }

  /** Finds out whether this machine supports moves. Never rejects. */
  async check(gpus: readonly MachineGpu[]): Promise<void> {
    const { logger } = this.#options;
    const { budgetBytes } = this;
    const none = 'no host memory may be used for it (--standby-memory)';
    this.#fault = budgetBytes === 0 ? none : this.#refusal || (await offloadFault(gpus, this.#helpers, this.ask));
    if (gpus.some(({ virtual }) => !virtual))
      logger.info(
        { supported: this.#fault === '', reason: this.#fault, budgetBytes },
        'GPU memory offload was checked',
      );
  }

  /** Why this machine cannot move GPU memory; empty if it can. */
  get fault(): string {
    return this.#fault;
  }

  get budgetBytes(): number {
    return this.#memory.budgetBytes;
  }

  /** Host memory of offloaded workers, in bytes, with moves in progress. */
  get usedBytes(): number {
    return this.#memory.usedBytes;
  }

  /** Moves a worker's memory off its GPUs and freezes it. Rejects with MoveError. */
  offload(worker: MovedWorker, wasFrozen: boolean): ReturnType<GpuMover['offload']> {
    return this.#counted('offload', () => {
      if (this.#fault !== '') throw new MoveError('UNSUPPORTED', this.#fault);
      return this.#mover.offload(worker, wasFrozen);
    });
  }

  /** Thaws a worker and moves its memory back. Rejects with MoveError. */
  restore(worker: MovedWorker, memory: OffloadedMemory): ReturnType<GpuMover['restore']> {
    return this.#counted('restore', () => this.#mover.restore(worker, memory));
  }

  /** Returns which processes hold GPU memory. `undefined` if the machine supports no moves, or the driver is silent. */
  async held(): Promise<readonly HeldMemory[] | undefined> {
    return this.#fault === '' ? readHeldMemory(this.ask).catch(() => undefined) : undefined;
  }

  /** Records a worker that a previous run of the agent offloaded. */
  adopted(workerId: string, bytes: number): void {
    this.#memory.adopt(workerId, bytes);
  }

  /** Records that a worker has ended. Idempotent. */
  release(workerId: string): void {
    this.#memory.release(workerId);
  }

  /** Ends the helper processes and their broker. Moves in progress fail. */
  close(): void {
    this.#helpers.close();
    this.#options.broker.close();
  }

  async #counted<Result extends { durationMs: number; bytes: number }>(
    direction: 'offload' | 'restore',
    move: () => Promise<Result>,
  ): Promise<Result> {
    const { onMove, onUnsupported } = this.#options;
    try {
      const result = await move();
      onMove(direction, result);
      this.#hasMoved = true;
      return result;
    } catch (error) {
      const failure = error instanceof MoveError ? error.failure : 'DRIVER_ERROR';
      onMove(direction, failure);
      // Where moves go well, it is this worker that cannot be moved.
      if (failure === 'UNSUPPORTED' && this.#fault === '' && !this.#hasMoved) {
        this.#refusal = (error as Error).message;
        this.#fault = this.#refusal;
        onUnsupported();
      }
      throw error;
    }
  }
}

function isVisible(pid: number): boolean {
  try {
    accessSync(`/proc/${pid}`);
    return true;
  } catch {
    return false;
  }
}
