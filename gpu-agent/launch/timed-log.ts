/** A worker's log that records when each part of it arrived. */
import type { Clock } from '@slipway/kit/time/clock';
import { LogRing } from './log-ring.ts';

/** Most time stamps kept. Beyond them every second one is dropped, so that times of old parts become less exact. */
const STAMPS_MAX = 4_096;

/**
 * When the bytes from `at` on, counted since the worker's start, arrived: by the monotonic clock, and for people in
 * milliseconds since 1970.
 */
export interface TimeStamp {
  at: number;
  monotonicMs: number;
  wallMs: number;
}

/** The kept part of a log. */
export interface BufferedLog {
  bytes: Buffer;
  /** Bytes that were written before the first kept one. */
  start: number;
  /** In order. The first may be later than the first bytes. */
  stamps: readonly TimeStamp[];
}

export class TimedLog extends LogRing {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  #written = 0;
  #stamps: TimeStamp[] = [];

  constructor(bytesMax: number, clock: Pick<Clock, 'monotonicMs' | 'nowMs'>) {
    super(bytesMax);
    this.#clock = clock;
  }

  override write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#stamp();
    this.#written += bytes.length;
    super.write(bytes);
  }

  /** Inserts the log of a previous run before everything written since, so that a reader's byte offset stays valid. */
  precede({ bytes, start, stamps }: BufferedLog): void {
    const own = this.kept();
    const from = start + bytes.length;
    this.clear();
    super.write(bytes);
    super.write(own.bytes);
    this.#written = from + own.start + own.bytes.length;
    this.#stamps = [...stamps, ...own.stamps.map((stamp) => ({ ...stamp, at: from + stamp.at }))];
  }

  /** Returns a copy of everything kept. */
  kept(): BufferedLog {
    return { bytes: this.tail(this.size), start: this.#written - this.size, stamps: [...this.#stamps] };
  }

  #stamp(): void {
    const monotonicMs = this.#clock.monotonicMs();
    // Bytes of the same millisecond share a time stamp.
    if (Math.floor(this.#stamps.at(-1)?.monotonicMs ?? -1) === Math.floor(monotonicMs)) return;
    if (this.#stamps.length >= STAMPS_MAX) this.#stamps = this.#stamps.filter((_, index) => index % 2 === 0);
    this.#stamps.push({ at: this.#written, monotonicMs, wallMs: this.#clock.nowMs() });
  }
}
