/**
 * Moves the GPU memory of whole workers to host memory and back. The order is lock, checkpoint, freeze, and back thaw,
 * restore, unlock: the driver never returns from a call to a stopped process. If a move fails, the caller must end the
 * worker and never move it again.
 */
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { HeldMemory } from './compute-apps.ts';
import type { HelperFailure, HelperPool } from './helper-pool.ts';
import type { HelperRequest } from './helper-protocol.ts';
import { MoveError } from './move-error.ts';
import type { StandbyMemory } from './standby-memory.ts';
import { inGib } from './standby-memory.ts';

const GIB = 1024 ** 3;
/**
 * Time limits in milliseconds: a fixed part of any move, and a part for each GiB. The latter is four times that of an
 * H200 (0.55 s/GiB out, 0.19 s/GiB back).
 */
const LIMIT_MS = { offload: { fixed: 15_000, perGib: 2_200 }, restore: { fixed: 15_000, perGib: 800 } };
/** Time that running GPU kernels have to end, in milliseconds. A worker has no job when it is moved. */
const LOCK_MS = 10_000;
/**
 * Longest wait for free GPU memory before a restore, in milliseconds: alone, and while others are restored to the same
 * card. Then the pause between two readings.
 */
const ROOM = { waitMs: 10_000, othersMs: 300_000, pollMs: 100 };
/** Bytes of a card that the driver may continue to count for a process whose memory was moved. */
const LEFT_BYTES_MAX = 64 * 1024 ** 2;

/** Parts of a running worker that the mover needs. */
export interface MovedWorker {
  readonly id: string;
  /** Returns all of its processes, by their ids on this host. */
  pids(): Promise<number[]>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Called with the bytes that the driver counts for it, before the first call that moves them. */
  holds(bytes: number): void;
  /** Aborts when it ends. */
  readonly signal: AbortSignal;
}

/** An offloaded worker. */
export interface OffloadedMemory {
  /** Processes whose memory was moved. */
  readonly pids: readonly number[];
  /** GPU memory that it held, by card. */
  readonly cards: readonly { readonly uuid: string; readonly bytes: number }[];
}

/** A move that has ended well. */
interface Moved {
  readonly bytes: number;
  readonly durationMs: number;
}

/** Dependencies of GpuMover. */
interface GpuMoverOptions {
  helpers: HelperPool;
  memory: StandbyMemory;
  readHeldMemory(): Promise<HeldMemory[]>;
  readFreeMemory(): Promise<ReadonlyMap<string, number>>;
  /** Returns whether a process of this id can be seen. */
  isVisible(pid: number): boolean;
  clock: Clock;
}

export class GpuMover {
  readonly #options: GpuMoverOptions;
  /** By worker: GPU memory that restores in progress may take, from the check of what is free until they have ended. */
  readonly #reserved = new Map<string, OffloadedMemory>();

  constructor(options: GpuMoverOptions) {
    this.#options = options;
  }

  /**
   * Moves the memory of a worker off its GPUs and freezes it. `wasFrozen`: it is frozen, and is thawed first. Rejects
   * with MoveError.
   */
  async offload(worker: MovedWorker, wasFrozen: boolean): Promise<Moved & { memory: OffloadedMemory }> {
    const { memory: budget, clock } = this.#options;
    const held = await this.#heldBy(worker);
    const memory = summaryOf(held);
    const bytes = bytesOf(memory);
    worker.holds(bytes);
    budget.take(worker.id, bytes);
    try {
      throwIfEnded(worker);
      const startedAtMs = clock.monotonicMs();
      if (wasFrozen) await step('thaw', worker.thaw());
      const { pids } = memory;
      if (pids.length > 0)
        await this.#call(worker, { do: 'offload', pids, lockTimeoutMs: LOCK_MS }, bytes, LIMIT_MS.offload);
      await step('freeze', worker.freeze());
      const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
      await this.#checkGone(worker);
      // The end of the worker has released the budget. A worker that is kept now would hold it forever.
      throwIfEnded(worker);
      return { memory, bytes, durationMs };
    } catch (error) {
      budget.release(worker.id);
      throw error;
    }
  }

  /**
   * Thaws a worker and moves its memory back to its GPUs. First waits until they have enough free memory: a restore
   * without enough damages the worker for good. Rejects with MoveError.
   */
  async restore(worker: MovedWorker, memory: OffloadedMemory): Promise<Moved> {
    try {
      return await this.#restore(worker, memory);
    } finally {
      this.#reserved.delete(worker.id);
    }
  }

  async #restore(worker: MovedWorker, memory: OffloadedMemory): Promise<Moved> {
    const { memory: budget, clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const bytes = bytesOf(memory);
    // A frozen worker starts no process meanwhile.
    const reading = worker.pids();
    reading.catch(() => undefined);
    // Always waited for: what it reserves is given back only afterwards.
    await this.#awaitRoom(worker, memory);
    const own = await reading;
    if (memory.pids.length > 0) throwIfUnseen(worker, own);
    await step('thaw', worker.thaw());
    const pids = memory.pids.filter((pid) => own.includes(pid));
    if (pids.length > 0) await this.#call(worker, { do: 'restore', pids }, bytes, LIMIT_MS.restore);
    budget.release(worker.id);
    return { bytes, durationMs: Math.round(clock.monotonicMs() - startedAtMs) };
  }

  async #heldBy(worker: MovedWorker): Promise<HeldMemory[]> {
    // #checkGone finds processes that it starts during the move.
    const [held, pids] = await Promise.all([this.#read(), worker.pids()]);
    const own = held.filter(({ pid }) => pids.includes(pid));
    if (own.length === 0 && (await this.#seesNoneOf(held)))
      throw new MoveError('UNSUPPORTED', 'the agent cannot see the processes that the driver names (pid namespace)');
    if (held.length > 0) throwIfUnseen(worker, pids);
    return own;
  }

  /**
   * Returns whether all processes that the driver names are invisible to the agent, because the agent has its own pid
   * namespace. Asks the driver twice: a process that has just ended is invisible as well.
   */
  async #seesNoneOf(held: readonly HeldMemory[]): Promise<boolean> {
    const { isVisible } = this.#options;
    const areHidden = (some: readonly HeldMemory[]): boolean =>
      some.length > 0 && some.every(({ pid }) => !isVisible(pid));
    return areHidden(held) && areHidden(await this.#read());
  }

  /** Rejects if the driver still counts memory for the worker: a process took some after the others were moved. */
  async #checkGone(worker: MovedWorker): Promise<void> {
    const [held, pids] = await Promise.all([this.#read(), worker.pids()]);
    if (held.length > 0) throwIfUnseen(worker, pids);
    const left = held.find(({ pid, bytes }) => pids.includes(pid) && bytes > LEFT_BYTES_MAX);
    if (left) throw new MoveError('DRIVER_ERROR', `process ${left.pid} still holds ${inGib(left.bytes)} of GPU memory`);
  }

  async #read(): Promise<HeldMemory[]> {
    try {
      return await this.#options.readHeldMemory();
    } catch {
      throw new MoveError('DRIVER_ERROR', 'nvidia-smi did not answer');
    }
  }

  /** Waits until the cards of a worker have its memory free, and reserves it: two restores must not share it. */
  async #awaitRoom(worker: MovedWorker, memory: OffloadedMemory): Promise<void> {
    const { readFreeMemory, clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    let untilMs = startedAtMs + ROOM.waitMs;
    for (;;) {
      // A restore that ends during the reading may not be counted in it yet.
      const before = new Map(this.#reserved);
      const free = await readFreeMemory().catch((): ReadonlyMap<string, number> => new Map());
      const others = [...new Map([...before, ...this.#reserved]).values()];
      const short = memory.cards.find(({ uuid, bytes }) => (free.get(uuid) ?? 0) - bytesOn(uuid, others) < bytes);
      if (!short) return void this.#reserved.set(worker.id, memory);
      throwIfEnded(worker);
      // Another restore may be in both figures while it runs.
      if (bytesOn(short.uuid, others) > 0)
        untilMs = Math.min(clock.monotonicMs() + ROOM.waitMs, startedAtMs + ROOM.othersMs);
      if (clock.monotonicMs() > untilMs) {
        const left = inGib(free.get(short.uuid) ?? 0);
        const text = `it needs ${inGib(short.bytes)} of ${short.uuid}, which has ${left} free`;
        throw new MoveError('NOT_ENOUGH_GPU_MEMORY', text);
      }
      await delay(clock, ROOM.pollMs, worker.signal);
    }
  }

  async #call(
    worker: MovedWorker,
    request: HelperRequest,
    bytes: number,
    limit: { fixed: number; perGib: number },
  ): Promise<void> {
    const { signal } = worker;
    const limitMs = limit.fixed + (bytes / GIB) * limit.perGib;
    const failure = await this.#options.helpers.run(request, { limitMs, signal });
    throwIfEnded(worker);
    if (failure) throw errorOf(failure);
  }
}

function throwIfEnded({ signal }: MovedWorker): void {
  if (signal.aborted) throw new MoveError('WORKER_ENDED', 'the worker ended during the move');
}

/**
 * Throws if no process of a worker could be read, for instance without free file descriptors. Its memory would stay on
 * the GPU, and the GPU would be given to another worker.
 */
function throwIfUnseen(worker: MovedWorker, pids: readonly number[]): void {
  throwIfEnded(worker);
  if (pids.length === 0) throw new MoveError('DRIVER_ERROR', 'its processes cannot be seen');
}

function errorOf({ kind, text }: HelperFailure): MoveError {
  if (kind === 'late') return new MoveError('TIMED_OUT', text);
  if (/out.of.memory/i.test(text)) return new MoveError('NOT_ENOUGH_GPU_MEMORY', text);
  return new MoveError(/not.supported|not.permitted/i.test(text) ? 'UNSUPPORTED' : 'DRIVER_ERROR', text);
}

async function step(name: 'freeze' | 'thaw', done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    throw new MoveError('DRIVER_ERROR', `it could not be ${name === 'thaw' ? 'thawed' : 'frozen'}: ${String(error)}`);
  }
}

function summaryOf(held: readonly HeldMemory[]): OffloadedMemory {
  const cards = new Map<string, number>();
  for (const { uuid, bytes } of held) cards.set(uuid, (cards.get(uuid) ?? 0) + bytes);
  return {
    pids: [...new Set(held.map(({ pid }) => pid))],
    cards: [...cards].map(([uuid, bytes]) => ({ uuid, bytes })),
  };
}

function bytesOn(uuid: string, memories: readonly OffloadedMemory[]): number {
  const cards = memories.flatMap(({ cards: all }) => all.filter((card) => card.uuid === uuid));
  return cards.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns what an offloaded worker holds of the host's memory. */
export function bytesOf({ cards }: OffloadedMemory): number {
  return cards.reduce((sum, { bytes }) => sum + bytes, 0);
}
