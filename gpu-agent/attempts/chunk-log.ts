/**
 * Yielded output that core has not stored yet, in order, to be sent again after a reconnect. It is bounded for the
 * whole agent and for each attempt. Where it is full, the next chunk waits, and with it the worker's POST, which slows
 * the generator down. Chunks are sent round robin over the attempts, so that an attempt that yields much does not delay
 * the others. The amount on its way to core is bounded as well: a core that stores slowly must keep reading what comes
 * behind it, heartbeats above all.
 */

import type { MessageBudget } from '@slipway/kit/net/batch-queue';
import type { BudgetFill } from '@slipway/kit/observe/budget-metrics';
import type { AttemptChunk, ChunkAck } from '@slipway/proto/gen/slipway/v1/agent_service';
import { attemptKey } from '../spool/attempt-key.ts';
import { ownBytes } from './own-bytes.ts';

/** Bounds on the chunks that are kept and sent. */
export interface ChunkBounds {
  /** Bytes in memory from which on new chunks wait. */
  bytesMax: number;
  /** The same for one attempt. */
  attemptBytesMax: number;
  /** Chunks, and their bytes, on their way to core. Far below the amount that makes core stop reading the session. */
  flyingMax: number;
  flyingBytesMax: number;
}

const MIB = 1024 * 1024;
const BOUNDS: ChunkBounds = { bytesMax: 64 * MIB, attemptBytesMax: 8 * MIB, flyingMax: 2_000, flyingBytesMax: 8 * MIB };
/** Approximate size of a chunk besides its output. Without it, millions of empty chunks would fit. */
const CHUNK_OWN_BYTES = 500;

interface Entry {
  /** Chunks that core has not stored, in order. */
  chunks: AttemptChunk[];
  /** Number of them that are on their way. */
  flying: number;
  bytes: number;
  /** Resolvers of those who wait for space in this entry. */
  waiting: (() => void)[];
}

export class ChunkLog {
  /** Called when there are chunks to take. */
  onWaiting: (() => void) | undefined;
  readonly #entries = new Map<string, Entry>();
  /** Entries with chunks that are not on their way, in round-robin order. */
  readonly #unsent = new Set<Entry>();
  readonly #stored: (key: string, number: number) => void;
  readonly #bounds: ChunkBounds;
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;
  #flying = 0;
  #flyingBytes = 0;

  /** `stored` is called with the number up to which core has stored the chunks of an attempt. */
  constructor({
    stored = () => undefined,
    ...bounds
  }: { stored?: (key: string, number: number) => void } & Partial<ChunkBounds> = {}) {
    this.#stored = stored;
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  /** True if all chunks are on their way. */
  get isEmpty(): boolean {
    return this.#unsent.size === 0;
  }

  /** True if there are chunks to take. */
  get isReady(): boolean {
    return (
      this.#unsent.size > 0 && this.#flying < this.#bounds.flyingMax && this.#flyingBytes < this.#bounds.flyingBytesMax
    );
  }

  /** Bytes of all chunks, and the number of values that wait for space. */
  get fill(): BudgetFill {
    return { bytes: this.#bytes, bytesMax: this.#bounds.bytesMax, waiting: this.#waiting.length };
  }

  /** Resolves when there is space for a chunk of this attempt, usually at once. */
  async spaceFor(key: string): Promise<void> {
    for (;;) {
      const entry = this.#entries.get(key);
      if (entry && entry.bytes >= this.#bounds.attemptBytesMax)
        await new Promise<void>((resolve) => {
          entry.waiting.push(resolve);
        });
      else if (this.#bytes >= this.#bounds.bytesMax)
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
        });
      else return;
    }
  }

  /** Adds a chunk to be sent. */
  add(given: AttemptChunk): void {
    const chunk = { ...given, output: ownBytes(given.output), metrics: given.metrics && ownBytes(given.metrics) };
    const key = attemptKey(chunk.ref!);
    let entry = this.#entries.get(key);
    if (!entry) this.#entries.set(key, (entry = { chunks: [], flying: 0, bytes: 0, waiting: [] }));
    const bytes = bytesOf(chunk);
    entry.chunks.push(chunk);
    entry.bytes += bytes;
    this.#bytes += bytes;
    this.#unsent.add(entry);
    if (this.isReady) this.onWaiting?.();
  }

  /** Takes as many of the waiting chunks as fit in a message, one of each attempt in turn. */
  take(budget: MessageBudget): AttemptChunk[] {
    const taken: AttemptChunk[] = [];
    // An entry that goes to the end is visited again in the same loop.
    for (const entry of this.#unsent) {
      const chunk = entry.chunks[entry.flying]!;
      const bytes = bytesOf(chunk);
      if (!this.isReady || !budget.take(bytes)) break;
      taken.push(chunk);
      entry.flying += 1;
      this.#flying += 1;
      this.#flyingBytes += bytes;
      this.#unsent.delete(entry);
      if (entry.flying < entry.chunks.length) this.#unsent.add(entry);
    }
    return taken;
  }

  /** Returns true if the attempt has chunks that are not on their way: its outcome must not overtake them. */
  hasUnsent(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.flying < entry.chunks.length;
  }

  /** Returns the chunks of an attempt that core has not stored, in order. */
  unacknowledged(key: string): AttemptChunk[] {
    return this.#entries.get(key)?.chunks ?? [];
  }

  /** Handles core's acknowledgement of all chunks up to a number. */
  acknowledge(ack: ChunkAck): void {
    const key = attemptKey(ack.ref!);
    const entry = this.#entries.get(key);
    if (!entry) return;
    // The chunks are in order, so only stored ones are visited, however many small ones there are.
    let stored = 0;
    while (stored < entry.chunks.length && entry.chunks[stored]!.number <= ack.number) stored += 1;
    this.#release(key, entry, stored);
    this.#stored(key, ack.number);
  }

  /** Drops the chunks of an attempt that does not matter any more. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry) this.#release(key, entry, entry.chunks.length);
  }

  /** Marks all chunks as not sent: after a reconnect everything is sent again. */
  sendAll(): void {
    this.#flying = 0;
    this.#flyingBytes = 0;
    for (const entry of this.#entries.values()) {
      entry.flying = 0;
      this.#unsent.add(entry);
    }
    if (this.isReady) this.onWaiting?.();
  }

  /** Removes the first `count` chunks of an attempt. */
  #release(key: string, entry: Entry, count: number): void {
    const wasReady = this.isReady;
    for (const [index, chunk] of entry.chunks.splice(0, count).entries()) {
      const bytes = bytesOf(chunk);
      entry.bytes -= bytes;
      this.#bytes -= bytes;
      if (index >= entry.flying) continue;
      this.#flying -= 1;
      this.#flyingBytes -= bytes;
    }
    entry.flying = Math.max(0, entry.flying - count);
    if (entry.flying === entry.chunks.length) this.#unsent.delete(entry);
    if (entry.chunks.length === 0) this.#entries.delete(key);
    if (entry.bytes < this.#bounds.attemptBytesMax) for (const wake of entry.waiting.splice(0)) wake();
    if (this.#bytes < this.#bounds.bytesMax) for (const wake of this.#waiting.splice(0)) wake();
    if (!wasReady && this.isReady) this.onWaiting?.();
  }
}

function bytesOf({ output, metrics }: AttemptChunk): number {
  return output.length + (metrics?.length ?? 0) + CHUNK_OWN_BYTES;
}
