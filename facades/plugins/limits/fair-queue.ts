/**
 * Shares a facade, and core behind it, fairly between accounts. While several accounts use it, few requests of one
 * account run at a time, the others wait unread, and accounts are served round-robin. A single account is not
 * limited.
 */

import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply } from 'fastify';

/** How long an account counts as active after a request, in milliseconds. */
const USED_MS = 2_000;
/** Most weight of running requests, of one account and in total. */
export const REQUEST_WEIGHT_MAX = 8;
const ALL_WEIGHT_MAX = 64;
/**
 * How long a request holds its permit, in milliseconds: a slow client must not block other requests of its account.
 * Shorter for requests that mostly wait, for a job or for their body.
 */
const PERMIT_MS = 2_000;
const WAITER_PERMIT_MS = 250;
/**
 * Least weight of a request after which its permit rests for as long as the request took, up to REST_MS_MAX. So heavy
 * requests of one account use at most half of the time beside other accounts.
 */
const REST_WEIGHT_MIN = 4;
const REST_MS_MAX = 250;
/**
 * Rest after a page of a long list, as a multiple of the time that the page took. Larger than after a request, because
 * a list occupies the facade, core, the database and its client at the same time.
 */
const PAGE_REST_SHARE = 3;

/** A request to schedule. */
interface FairRequest {
  accountId: string;
  /** 1: as cheap as a status. At most REQUEST_WEIGHT_MAX. */
  weight: number;
  /** Whether most of its time is waiting instead of work. */
  waits: boolean;
}

interface Use {
  accountId: string;
  atMs: number;
}

export class FairQueue {
  readonly #clock: Clock;
  readonly #permits = new MemoryBudget({ bytesMax: ALL_WEIGHT_MAX, ownerBytesMax: REQUEST_WEIGHT_MAX });
  /** The latest use, and the latest use by another account. */
  #last: Use | undefined;
  #other: Use | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns how many requests wait. */
  get waiting(): number {
    return this.#permits.fill.waiting ?? 0;
  }

  /**
   * Schedules a request. Returns `undefined` if it may run at once, else a promise that resolves when it may. The
   * permit ends with the response or after a time limit.
   */
  enter({ accountId, weight, waits }: FairRequest, { raw }: Pick<FastifyReply, 'raw'>): Promise<void> | undefined {
    this.#use(accountId);
    if (!this.#isShared(accountId)) return undefined;
    let begun = false;
    let begunAtMs = 0;
    let begin: () => void = () => {
      begun = true;
    };
    let timer: Timer | undefined;
    const permit = this.#permits.acquire(accountId, Math.min(weight, REQUEST_WEIGHT_MAX), () => {
      begunAtMs = this.#clock.monotonicMs();
      begin();
      timer = this.#clock.after(waits ? WAITER_PERMIT_MS : PERMIT_MS, () => permit.release());
    });
    const end = (): void => {
      timer?.cancel();
      const tookMs = timer && !waits && weight >= REST_WEIGHT_MIN ? this.#clock.monotonicMs() - begunAtMs : 0;
      if (tookMs > 0) this.#clock.after(Math.min(tookMs, REST_MS_MAX), () => permit.release());
      else permit.release();
    };
    if (raw.closed) end();
    else raw.once('close', end);
    if (begun) return undefined;
    return new Promise((resolve, reject) => {
      begin = resolve;
      const gone = (): void => reject(new CoreError('UNAVAILABLE', 'The client has gone.'));
      if (raw.closed) gone();
      else raw.once('close', gone);
    });
  }

  /**
   * Waits between two pages of a long list, PAGE_REST_SHARE times as long as the first of them took, up to REST_MS_MAX.
   * Resolves at once if no other account uses the facade.
   */
  async rest(accountId: string, tookMs: number): Promise<void> {
    if (!this.#isShared(accountId)) return;
    await new Promise<void>((resolve) => {
      this.#clock.after(Math.min(PAGE_REST_SHARE * tookMs, REST_MS_MAX), resolve);
    });
  }

  #use(accountId: string): void {
    if (this.#last && this.#last.accountId !== accountId) this.#other = this.#last;
    this.#last = { accountId, atMs: this.#clock.monotonicMs() };
  }

  /** Returns whether another account uses the facade too. */
  #isShared(accountId: string): boolean {
    const other = this.#last?.accountId === accountId ? this.#other : this.#last;
    return other !== undefined && other.accountId !== accountId && this.#clock.monotonicMs() - other.atMs < USED_MS;
  }
}
