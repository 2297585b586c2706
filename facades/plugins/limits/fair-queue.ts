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
 * Least weight of a request whose permit rests after it. The rest takes REST_SHARE times as long as the request, and
 * at most REST_MS_MAX. So beside other accounts, heavy requests of one account use a quarter of the time. The same
 * rest follows the work on a large body. Such a request occupies the facade, core, the database and its client at the
 * same time. With a rest as long as the work, others waited three times as long as without the heavy requests.
 */
export const REST_WEIGHT_MIN = 4;
const REST_SHARE = 3;
const REST_MS_MAX = 250;
/**
 * The share of the rest after a page of a long list. Many pages follow each other: with a share of three, a status
 * request of another account still took three times as long.
 */
const PAGE_REST_SHARE = 9;

type Reply = Pick<FastifyReply, 'raw'>;

/** A request to schedule. */
interface FairRequest {
  accountId: string;
  /** 1: as cheap as a status. At most REQUEST_WEIGHT_MAX. */
  weight: number;
  /** Whether most of its time is waiting instead of work. */
  waits: boolean;
  /** Whether it goes before other requests of its account. Default false. */
  isFirst?: boolean;
}

interface Use {
  accountId: string;
  atMs: number;
}

/** Permit of a request, or the wait for it. */
interface FairPermit {
  /** `undefined` if it may run at once. Rejects if the client disconnects first. */
  begun: Promise<void> | undefined;
  /** Ends the permit before the response ends. Idempotent. */
  end(): void;
  /** Ends it without a rest, because another permit of the same request follows. Idempotent. */
  replace(): void;
}

export class FairQueue {
  readonly #clock: Clock;
  /** Permits of requests, and of the work on their bodies. */
  readonly #entered = new WeakMap<Reply['raw'], FairPermit>();
  readonly #working = new WeakSet<Reply['raw']>();
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
  enter(request: FairRequest, reply: Reply): Promise<void> | undefined {
    this.#use(request.accountId);
    // A request whose body is being worked on must not wait for its own permit.
    if (!this.#isShared(request.accountId) || this.#working.has(reply.raw)) return undefined;
    const permit = this.#acquire(request, reply);
    this.#entered.set(reply.raw, permit);
    return permit.begun;
  }

  /**
   * Schedules the work on a large body that has arrived, before other requests of its account. The permit of its
   * request ends, and the work gets one of its own. Resolves with the function that ends the work. Rejects if the
   * client disconnects first.
   */
  async work({ accountId, weight }: Pick<FairRequest, 'accountId' | 'weight'>, reply: Reply): Promise<() => void> {
    if (!this.#isShared(accountId)) return () => undefined;
    const permit = this.#acquire({ accountId, weight, waits: false, isFirst: true }, reply);
    this.#working.add(reply.raw);
    // The client announced less if it compresses.
    this.#entered.get(reply.raw)?.replace();
    await permit.begun;
    return permit.end;
  }

  #acquire({ accountId, weight, waits, isFirst }: FairRequest, { raw }: Reply): FairPermit {
    const begun = Promise.withResolvers<void>();
    let hasBegun = false;
    let begunAtMs = 0;
    let timer: Timer | undefined;
    const grant = (): void => {
      hasBegun = true;
      begunAtMs = this.#clock.monotonicMs();
      begun.resolve();
      timer = this.#clock.after(waits ? WAITER_PERMIT_MS : PERMIT_MS, () => permit.release());
    };
    const permit = this.#permits.acquire(accountId, Math.min(weight, REQUEST_WEIGHT_MAX), grant, isFirst);
    let hasEnded = false;
    const finish = (mayRest: boolean): void => {
      if (hasEnded) return;
      hasEnded = true;
      timer?.cancel();
      // An account that is alone by now need not rest.
      const rests = mayRest && hasBegun && !waits && weight >= REST_WEIGHT_MIN && this.#isShared(accountId);
      const tookMs = rests ? this.#clock.monotonicMs() - begunAtMs : 0;
      if (tookMs <= 0) return permit.release();
      permit.lend();
      this.#clock.after(restMs(tookMs, REST_SHARE), () => permit.release());
    };
    const end = (): void => finish(true);
    const replace = (): void => finish(false);
    if (hasBegun) {
      if (raw.closed) end();
      else raw.once('close', end);
      return { begun: undefined, end, replace };
    }
    const gone = (): void => {
      end();
      begun.reject(new CoreError('UNAVAILABLE', 'The client has gone.'));
    };
    if (raw.closed) gone();
    else raw.once('close', gone);
    return { begun: begun.promise, end, replace };
  }

  /**
   * Waits between two pages of a long list, PAGE_REST_SHARE times as long as the first of them took, up to REST_MS_MAX.
   * Resolves at once if no other account uses the facade.
   */
  async rest(accountId: string, tookMs: number): Promise<void> {
    if (!this.#isShared(accountId)) return;
    await new Promise<void>((resolve) => {
      this.#clock.after(restMs(tookMs, PAGE_REST_SHARE), resolve);
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

function restMs(tookMs: number, share: number): number {
  return Math.min(share * tookMs, REST_MS_MAX);
}
