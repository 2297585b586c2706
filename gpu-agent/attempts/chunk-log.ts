/**
 * Yielded output that core has not stored yet, in order, to be sent again after a reconnect. Bounded for the whole agent: when it is
 * full, the next chunk waits and with it the worker's POST, which slows the generator down.
 */
import type { AttemptChunk, ChunkAck } from '../../proto/gen/slipway/v1/agent_service.ts';
import { attemptKey } from '../spool/attempt-key.ts';
import { ownBytes } from './own-bytes.ts';

/** Bytes of chunks in memory at which new ones wait. */
const BYTES_MAX = 64 * 1024 * 1024;
/** What a chunk takes besides its output, about: of empty ones millions would find room otherwise. */
const CHUNK_OWN_BYTES = 500;

export class ChunkLog {
  readonly #byAttempt = new Map<string, AttemptChunk[]>();
  readonly #send: (chunk: AttemptChunk) => void;
  readonly #stored: (key: string, number: number) => void;
  readonly #bytesMax: number;
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;

  /** `stored` is told up to which number core has stored the chunks of an attempt. */
  constructor(options: { send: (chunk: AttemptChunk) => void; stored?: (key: string, number: number) => void; bytesMax?: number }) {
    this.#send = options.send;
    this.#stored = options.stored ?? (() => undefined);
    this.#bytesMax = options.bytesMax ?? BYTES_MAX;
  }

  /** Resolves when there is room, at once as a rule. */
  room(): Promise<void> {
    if (this.#bytes < this.#bytesMax) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Keeps a chunk and sends it. */
  add(given: AttemptChunk): void {
    const chunk = { ...given, output: ownBytes(given.output), metrics: given.metrics && ownBytes(given.metrics) };
    const key = attemptKey(chunk.ref!);
    const chunks = this.#byAttempt.get(key);
    if (chunks) chunks.push(chunk);
    else this.#byAttempt.set(key, [chunk]);
    this.#bytes += bytesOf([chunk]);
    this.#send(chunk);
  }

  /** Chunks of an attempt that core has not stored, in order. */
  unacknowledged(key: string): AttemptChunk[] {
    return this.#byAttempt.get(key) ?? [];
  }

  /** Core has stored all chunks up to a number. */
  acknowledge(ack: ChunkAck): void {
    const key = attemptKey(ack.ref!);
    const chunks = this.#byAttempt.get(key);
    if (!chunks) return;
    // They are in order: of many small ones only those that were stored are looked at.
    let stored = 0;
    while (stored < chunks.length && chunks[stored]!.number <= ack.number) stored += 1;
    this.#release(chunks.splice(0, stored));
    if (chunks.length === 0) this.#byAttempt.delete(key);
    this.#stored(key, ack.number);
  }

  /** The attempt does not matter any more. */
  forget(key: string): void {
    const chunks = this.#byAttempt.get(key);
    if (!chunks) return;
    this.#byAttempt.delete(key);
    this.#release(chunks);
  }

  /** Sends everything again, after a reconnect. */
  sendAll(): void {
    for (const chunks of this.#byAttempt.values()) for (const chunk of chunks) this.#send(chunk);
  }

  #release(chunks: readonly AttemptChunk[]): void {
    this.#bytes -= bytesOf(chunks);
    while (this.#bytes < this.#bytesMax && this.#waiting.length > 0) this.#waiting.shift()!();
  }
}

function bytesOf(chunks: readonly AttemptChunk[]): number {
  return chunks.reduce((sum, { output, metrics }) => sum + output.length + (metrics?.length ?? 0) + CHUNK_OWN_BYTES, 0);
}
