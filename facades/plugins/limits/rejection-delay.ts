/**
 * Makes rejections cheap for clients that ignore them: after some in a window each further one is delayed. If too
 * many are delayed, the response closes the connection.
 */

import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyReply } from 'fastify';

const WINDOW_MS = 10_000;
/** Rejections of one client in a window that are sent at once. */
const AT_ONCE_MAX = 50;
const DELAY_MS = 1_000;
/** Least time between two delayed rejections of one client: each costs the facade a request. */
const PACE_MS = 5;
/**
 * Most delayed rejections, of one client and in total. A client with more connections than that makes new ones all the
 * time, each at a cost.
 */
const OF_ONE_MAX = 2_500;
const WAITING_MAX = 5_000;
/** Most clients that are counted by themselves in a window. All others count as one. */
const KNOWN_MAX = 10_000;
const OTHERS = '';

interface Refused {
  count: number;
  waiting: number;
  /** Time of its latest delayed rejection. */
  lastAtMs: number;
}

export class RejectionDelay {
  readonly #clock: Clock;
  readonly #refused = new Map<string, Refused>();
  #windowEndMs = 0;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits as long as a rejection of `who`, an account or an address, is to be delayed. Returns false if its
   * connection is to be closed.
   */
  async wait(who: string, { raw }: Pick<FastifyReply, 'raw'>): Promise<boolean> {
    const refused = this.#of(who);
    refused.count += 1;
    if (refused.count <= AT_ONCE_MAX) return true;
    if (refused.waiting >= OF_ONE_MAX || this.#waiting >= WAITING_MAX) return false;
    refused.waiting += 1;
    this.#waiting += 1;
    const now = this.#clock.monotonicMs();
    // Clients that have left count here as well, up to that bound.
    const atMs = Math.max(now + DELAY_MS, refused.lastAtMs + PACE_MS);
    refused.lastAtMs = Math.min(atMs, now + DELAY_MS + OF_ONE_MAX * PACE_MS);
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(refused.lastAtMs - now, resolve);
      raw.once('close', () => {
        timer.cancel();
        resolve();
      });
      if (raw.closed) resolve();
    });
    refused.waiting -= 1;
    this.#waiting -= 1;
    return true;
  }

  #of(who: string): Refused {
    const now = this.#clock.monotonicMs();
    if (now >= this.#windowEndMs) {
      this.#windowEndMs = now + WINDOW_MS;
      // Clients with delayed rejections stay known.
      for (const [name, refused] of this.#refused) {
        refused.count = 0;
        if (refused.waiting === 0) this.#refused.delete(name);
      }
    }
    const name = this.#refused.has(who) || this.#refused.size < KNOWN_MAX ? who : OTHERS;
    const known = this.#refused.get(name) ?? { count: 0, waiting: 0, lastAtMs: -Infinity };
    this.#refused.set(name, known);
    return known;
  }
}
