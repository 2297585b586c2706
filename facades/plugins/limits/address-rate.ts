/** Rate-limits requests without a key by client address. */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';

/** Length of a window in milliseconds. */
const WINDOW_MS = 10_000;
/** Most requests of one address in a window, and of all addresses. */
const OF_ADDRESS_MAX = 50;
const OF_ALL_MAX = 500;
/** Addresses that are remembered in a window. */
const ADDRESSES_MAX = 10_000;

export class AddressRate {
  readonly #clock: Clock;
  #counts = boundedCache<string, number>(ADDRESSES_MAX);
  #all = 0;
  #endsAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a request. RATE_LIMITED: it is one too many. */
  admit(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#endsAtMs) {
      this.#counts = boundedCache(ADDRESSES_MAX);
      this.#all = 0;
      this.#endsAtMs = nowMs + WINDOW_MS;
    }
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    this.#all += 1;
    if (count <= OF_ADDRESS_MAX && this.#all <= OF_ALL_MAX) return;
    const text =
      `Without a key ${OF_ADDRESS_MAX} requests of an address are answered in ${WINDOW_MS / 1_000} s, and ` +
      `${OF_ALL_MAX} of all`;
    throw new CoreError('RATE_LIMITED', `${text}: wait, or send a key.`);
  }
}
