/**
 * Shares a facade, and the core behind it, between accounts while several use it: then few requests of one account are under way at a time, the others of
 * it wait unread, and waiting ones are served round-robin by account. An account that is alone is not bounded here.
 */
import type { FastifyReply } from 'fastify';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { MemoryBudget } from '../../core/runtime/memory-budget.ts';
import { CoreError } from '../../proto/wire/reason.ts';

/** An account that asked for something this long ago still counts as one that uses the facade, in milliseconds. */
const USED_MS = 2_000;
/** Weight of what is under way, of one account and in all. */
export const REQUEST_WEIGHT_MAX = 8;
const ALL_WEIGHT_MAX = 64;
/**
 * Longest turn, in milliseconds: who sends or reads slowly must not keep the account's other requests waiting. Shorter for a request that waits for something
 * else than the facade, a job or the rest of its body for instance.
 */
const PERMIT_MS = 2_000;
const WAITER_PERMIT_MS = 250;

/** A request that is to have a turn. */
export interface FairRequest {
  accountId: string;
  /** 1: as cheap as a status. At most REQUEST_WEIGHT_MAX. */
  weight: number;
  /** Most of the time it takes is no work. */
  waits: boolean;
}

interface Use {
  accountId: string;
  atMs: number;
}

export class FairQueue {
  readonly #clock: Clock;
  readonly #turns = new MemoryBudget({ bytesMax: ALL_WEIGHT_MAX, ownerBytesMax: REQUEST_WEIGHT_MAX });
  /** Who used the facade last, and who before that was somebody else. */
  #last: Use | undefined;
  #other: Use | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    return this.#turns.fill.waiting ?? 0;
  }

  /**
   * Begins a request, whose turn ends with its response or when it has lasted long enough. Undefined: it goes on at once, as a rule; else when the promise
   * resolves.
   */
  enter({ accountId, weight, waits }: FairRequest, { raw }: Pick<FastifyReply, 'raw'>): Promise<void> | undefined {
    if (!this.#isShared(accountId)) return undefined;
    let begun = false;
    let begin: () => void = () => { begun = true; };
    let timer: Timer | undefined;
    const place = this.#turns.acquire(accountId, Math.min(weight, REQUEST_WEIGHT_MAX), () => {
      begin();
      timer = this.#clock.after(waits ? WAITER_PERMIT_MS : PERMIT_MS, () => place.release());
    });
    const end = (): void => {
      timer?.cancel();
      place.release();
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

  /** Whether somebody else uses the facade as well. */
  #isShared(accountId: string): boolean {
    const now = this.#clock.monotonicMs();
    if (this.#last && this.#last.accountId !== accountId) this.#other = this.#last;
    this.#last = { accountId, atMs: now };
    return this.#other !== undefined && this.#other.accountId !== accountId && now - this.#other.atMs < USED_MS;
  }
}
