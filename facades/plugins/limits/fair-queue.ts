/**
 * Shares a facade, and core behind it, fairly between accounts. While several accounts use it, few requests of one
 * account run at a time, the others wait unread, and accounts are served round-robin. A single account is not
 * limited.
 */

import type { MemoryPermit } from '@slipway/kit/bytes/memory-budget';
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
/**
 * The rest after the work on a large body. Until it ends no other large body of the account is read, but its small
 * requests are served. It applies only while another account has sent a request in the last BODY_SHARED_MS. A body of
 * 10 MB delays everything that runs while it passes, and with a rest of three times the work, that was often.
 */
const BODY_REST_SHARE = 30;
const BODY_REST_MS_MAX = 2_000;
const BODY_SHARED_MS = 1_000;

type Reply = Pick<FastifyReply, 'raw'>;

/** A request to schedule. */
interface FairRequest {
  accountId: string;
  /** 1: as cheap as a status. At most REQUEST_WEIGHT_MAX. */
  weight: number;
  /** Whether most of its time is waiting instead of work. */
  waits: boolean;
  /** Whether it has a large body: of these, an account has one at a time. Default false. */
  hasLargeBody?: boolean;
  /** Whether it goes before other requests of its account. Default false. */
  isFirst?: boolean;
}

/** A permit that a request needs, and the rest of its account after it. */
interface Need {
  budget: MemoryBudget;
  weight: number;
  /** The rest as a multiple of the time that the request took, and its maximum in milliseconds. */
  restShare: number;
  restMsMax: number;
  /** There is a rest only if another account has sent a request in that time, in milliseconds. */
  sharedMs: number;
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
  readonly #largeBodies = new MemoryBudget({ bytesMax: Infinity, ownerBytesMax: 1 });
  /** The latest use, and the latest use by another account. */
  #last: Use | undefined;
  #other: Use | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns how many requests wait. */
  get waiting(): number {
    return (this.#permits.fill.waiting ?? 0) + (this.#largeBodies.fill.waiting ?? 0);
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
    const permit = this.#acquire({ accountId, weight, waits: false, hasLargeBody: true, isFirst: true }, reply);
    this.#working.add(reply.raw);
    // The client announced less if it compresses.
    this.#entered.get(reply.raw)?.replace();
    await permit.begun;
    return permit.end;
  }

  /** Acquires the permits that a request needs, one after the other. */
  #acquire(request: FairRequest, { raw }: Reply): FairPermit {
    const { accountId, waits, isFirst } = request;
    const begun = Promise.withResolvers<void>();
    const needs = this.#needsOf(request);
    const permits: MemoryPermit[] = [];
    let hasBegun = false;
    let begunAtMs = 0;
    let timer: Timer | undefined;
    const next = (index: number): void => {
      const need = needs[index];
      if (need) {
        permits[index] = need.budget.acquire(accountId, need.weight, () => next(index + 1), isFirst);
        return;
      }
      hasBegun = true;
      begunAtMs = this.#clock.monotonicMs();
      begun.resolve();
      timer = this.#clock.after(waits ? WAITER_PERMIT_MS : PERMIT_MS, () => {
        for (const permit of permits) permit.release();
      });
    };
    next(0);
    let hasEnded = false;
    const finish = (mayRest: boolean): void => {
      if (hasEnded) return;
      hasEnded = true;
      timer?.cancel();
      const isWork = mayRest && hasBegun && !waits && request.weight >= REST_WEIGHT_MIN;
      const tookMs = isWork ? this.#clock.monotonicMs() - begunAtMs : 0;
      for (const [index, permit] of permits.entries()) this.#release(permit, accountId, needs[index]!, tookMs);
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

  /** Returns the permits of a request in the order in which they are acquired. */
  #needsOf({ weight, hasLargeBody = false }: FairRequest): Need[] {
    const body: Need = {
      budget: this.#largeBodies,
      weight: 1,
      restShare: BODY_REST_SHARE,
      restMsMax: BODY_REST_MS_MAX,
      sharedMs: BODY_SHARED_MS,
    };
    const share: Need = {
      budget: this.#permits,
      weight: Math.min(weight, REQUEST_WEIGHT_MAX),
      restShare: REST_SHARE,
      restMsMax: REST_MS_MAX,
      sharedMs: USED_MS,
    };
    return hasLargeBody ? [body, share] : [share];
  }

  /** Releases a permit after the rest that follows `tookMs` of work. An account that is alone by now need not rest. */
  #release(permit: MemoryPermit, accountId: string, { restShare, restMsMax, sharedMs }: Need, tookMs: number): void {
    if (tookMs <= 0 || !this.#isShared(accountId, sharedMs)) return permit.release();
    permit.lend();
    this.#clock.after(Math.min(restShare * tookMs, restMsMax), () => permit.release());
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

  /** Returns whether another account has sent a request in the last `withinMs`. */
  #isShared(accountId: string, withinMs = USED_MS): boolean {
    const other = this.#last?.accountId === accountId ? this.#other : this.#last;
    return other !== undefined && other.accountId !== accountId && this.#clock.monotonicMs() - other.atMs < withinMs;
  }
}
