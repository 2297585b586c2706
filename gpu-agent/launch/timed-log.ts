/** A worker's log that knows when each part of it arrived. */
import type { Clock } from '@slipway/kit/time/clock';
import { LogRing } from './log-ring.ts';

/** Instants that are kept; beyond them every second one goes, so that old parts are known less exactly. */
const STAMPS_MAX = 4_096;

/**
 * Bytes from `at` on, counted since the worker's start, arrived then: by the steady clock, and for people in
 * milliseconds since 1970.
 */
export interface TimeStamp {
  at: number;
  steadyMs: number;
  wallMs: number;
}

/** What is kept of a log. */
export interface KeptLog {
  bytes: Buffer;
  /** Bytes that were written before the first of them. */
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

  /**
   * Puts what was kept of an earlier one before all that was written since: who reads on by bytes reads on in this one.
   */
  precede({ bytes, start, stamps }: KeptLog): void {
    const own = this.kept();
    const from = start + bytes.length;
    this.clear();
    super.write(bytes);
    super.write(own.bytes);
    this.#written = from + own.start + own.bytes.length;
    this.#stamps = [...stamps, ...own.stamps.map((stamp) => ({ ...stamp, at: from + stamp.at }))];
  }

  /** All that is kept. A copy. */
  kept(): KeptLog {
    return { bytes: this.tail(this.size), start: this.#written - this.size, stamps: [...this.#stamps] };
  }

  #stamp(): void {
    const steadyMs = this.#clock.monotonicMs();
    // What arrives in the same millisecond arrived together.
    if (Math.floor(this.#stamps.at(-1)?.steadyMs ?? -1) === Math.floor(steadyMs)) return;
    if (this.#stamps.length >= STAMPS_MAX) this.#stamps = this.#stamps.filter((_, index) => index % 2 === 0);
    this.#stamps.push({ at: this.#written, steadyMs, wallMs: this.#clock.nowMs() });
  }
}
