/**
 * Counts requests per account, endpoint and operation, and acts on the decision of rate-limit-rules.ts. Counts are per
 * process.
 */

import { SharedPermits } from '@slipway/kit/lifecycle/shared-permits';
import type { Clock } from '@slipway/kit/time/clock';
import type { RefusedRequests } from '@slipway/proto/gen/slipway/v1/edge_service';
import { RequestLimit, RequestOperation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { FACADE_REQUESTS_MAX, REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import type { FastifyReply } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { TooManyRequests } from '../errors/public-error.ts';
import { FairQueue, REST_WEIGHT_MIN } from './fair-queue.ts';
import type { LimitedOperation, PerWorker, RateDecision } from './rate-limit-rules.ts';
import { decideRate, effectiveLimit, RATE_RULES } from './rate-limit-rules.ts';
import { RejectionDelay } from './rejection-delay.ts';

/** A request to be rate-limited. */
export interface LimitedRequest {
  accountId: string;
  endpointId: string;
  operation: LimitedOperation;
  workersRunning: number;
  /** Most requests of the account to the job API in a window. `undefined` if unlimited. */
  requestQuota?: number | undefined;
  /** Announced size of the body in bytes. Default 0. */
  bodyBytes?: number;
  /** Key of the request. `undefined` if it is not for an endpoint; then the rejection is not reported. */
  apiKey?: string | undefined;
}

/** A request whose body has arrived. */
type BodyOfRequest = Pick<LimitedRequest, 'accountId' | 'operation'> & { bodyBytes: number };

/** Called for a rejected request with the limit that it exceeded. */
export type RejectionListener = (operation: LimitedOperation, cause: 'rate' | 'concurrency' | 'quota') => void;

/** Remaining rate after a request was counted. */
export interface RateBudget {
  /** Requests in a window. */
  limit: number;
  /** Requests left in the window. */
  left: number;
  /** Seconds until the window ends, rounded up. */
  resetSeconds: number;
}

/** A rejected request to an endpoint. */
type RejectedRequest = Pick<LimitedRequest, 'accountId' | 'endpointId'> & { apiKey: string };

/** Listeners for rejections. */
export interface RejectionListeners {
  /** Counts rejections. Default: none. */
  onRejected?: RejectionListener;
  /** Reports rejections at endpoints to core. Default: none. */
  reporter?: { add(request: RejectedRequest, refused: Omit<RefusedRequests, 'count'>): void };
}

export class RateLimit {
  readonly #perWorker: PerWorker;
  readonly #listeners: RejectionListeners;
  readonly #inFlight = new Map<string, number>();
  /** Requests to the job API under way, of each account. */
  readonly #share = new SharedPermits(FACADE_REQUESTS_MAX);
  // The library only counts; its own maximum is out of reach because the limit moves with the workers.
  readonly #window = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: REQUEST_WINDOW_SECONDS });
  readonly #delay: RejectionDelay;
  readonly #queue: FairQueue;

  constructor(perWorker: PerWorker, clock: Clock, listeners: RejectionListeners = {}) {
    this.#perWorker = perWorker;
    this.#listeners = listeners;
    this.#delay = new RejectionDelay(clock);
    this.#queue = new FairQueue(clock);
  }

  /**
   * Counts a request until its response is sent, and waits for its permit. Throws TooManyRequests, delayed if the
   * account was rejected often. Rejected requests count for the rate. Without `reply` the caller bounds concurrency
   * itself.
   */
  async admit(request: LimitedRequest, reply?: Pick<FastifyReply, 'raw'>): Promise<RateBudget> {
    let left: RateBudget;
    try {
      left = await this.#count(request, reply);
    } catch (error) {
      if (reply) await this.delayRejection(request.accountId, reply);
      throw error;
    }
    const weighed = reply && WEIGHTS[request.operation];
    if (!weighed) return left;
    const { accountId, bodyBytes = 0 } = request;
    const weight = weighed.weight + Math.floor(bodyBytes / BODY_WEIGHT_BYTES);
    const waits = weighed.waits || bodyBytes > BODY_AT_ONCE_BYTES;
    await this.#queue.enter({ accountId, waits, weight, hasLargeBody: isLargeBody(weight, bodyBytes) }, reply);
    return left;
  }

  /**
   * Delays the rejection of `who`, an account or an address, after many rejections. If too many are delayed, the
   * response closes the connection.
   */
  async delayRejection(who: string, reply: Pick<FastifyReply, 'raw'>): Promise<void> {
    if (!(await this.#delay.wait(who, reply))) reply.raw.shouldKeepAlive = false;
  }

  /**
   * Waits until a body may be processed beside those of other accounts. Its turn ends with the response, or when the
   * returned function is called. Returns `undefined` for small work, which got its permit while the body arrived.
   */
  work(
    { accountId, operation, bodyBytes }: BodyOfRequest,
    reply: Pick<FastifyReply, 'raw'>,
  ): Promise<() => void> | undefined {
    const weight = (WEIGHTS[operation]?.weight ?? 0) + Math.floor(bodyBytes / BODY_WEIGHT_BYTES);
    if (!isLargeBody(weight, bodyBytes)) return undefined;
    return this.#queue.work({ accountId, weight }, reply);
  }

  /** Waits between two pieces of a long response, so that other accounts come between them. */
  rest(accountId: string, tookMs: number): Promise<void> {
    return this.#queue.rest(accountId, tookMs);
  }

  async #count(request: LimitedRequest, reply: Pick<FastifyReply, 'raw'> | undefined): Promise<RateBudget> {
    const { operation, workersRunning } = request;
    if (operation !== 'management' && operation !== 'live' && request.requestQuota !== undefined)
      await this.#withinQuota(request, request.requestQuota);
    const name = `${operation} ${request.accountId} ${request.endpointId}`;
    const { rate, concurrency } = RATE_RULES[operation];
    const rule = { rate, concurrency: reply && concurrency };
    const window = await this.#window.consume(name);
    const inFlight = (this.#inFlight.get(name) ?? 0) + 1;
    const sample = { inWindow: window.consumedPoints, windowLeftMs: window.msBeforeNext, inFlight, workersRunning };
    const decision = decideRate(rule, sample, this.#perWorker);
    if (!decision.allowed) {
      this.#refused(
        request,
        decision.cause,
        decision.cause === 'rate' ? RequestLimit.RATE : RequestLimit.AT_ONCE,
        decision.limit,
      );
      throw tooManyRequests(operation, decision);
    }
    if (reply && concurrency !== undefined) this.#hold(name, { inFlight, request }, reply);
    const limit = effectiveLimit(rate, workersRunning, this.#perWorker.rate);
    return { limit, left: limit - window.consumedPoints, resetSeconds: Math.ceil(window.msBeforeNext / 1_000) };
  }

  #refused(request: LimitedRequest, cause: Parameters<RejectionListener>[1], limit: RequestLimit, most: number): void {
    const { accountId, endpointId, operation, apiKey } = request;
    this.#listeners.onRejected?.(operation, cause);
    if (apiKey !== undefined)
      this.#listeners.reporter?.add({ accountId, endpointId, apiKey }, { limit, operation: ON_WIRE[operation], most });
  }

  #rejectShare(request: LimitedRequest): TooManyRequests {
    this.#refused(request, 'concurrency', RequestLimit.ACCOUNT_SHARE, 0);
    return new TooManyRequests(
      'The account has so many requests under way that none is left to it while others need the rest; ' +
        'try again shortly.',
      1,
    );
  }

  /** Checks the account's own limit, whatever the limits of its endpoints are. */
  async #withinQuota(request: LimitedRequest, quota: number): Promise<void> {
    const { consumedPoints, msBeforeNext } = await this.#window.consume(`quota ${request.accountId}`);
    if (consumedPoints <= quota) return;
    this.#refused(request, 'quota', RequestLimit.QUOTA, quota);
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
    throw new TooManyRequests(
      `The account's quota of ${quota} requests in ${REQUEST_WINDOW_SECONDS} s is used up; try again in ${seconds} s.`,
      seconds,
    );
  }

  #hold(
    name: string,
    { inFlight, request }: { inFlight: number; request: LimitedRequest },
    reply: Pick<FastifyReply, 'raw'>,
  ): void {
    if (reply.raw.closed) return;
    const { accountId, operation } = request;
    const isShared = !NOT_JOB_API.has(operation);
    if (isShared && !this.#share.tryAcquire(accountId)) throw this.#rejectShare(request);
    this.#inFlight.set(name, inFlight);
    reply.raw.once('close', () => {
      if (isShared) this.#share.release(accountId);
      const left = (this.#inFlight.get(name) ?? 1) - 1;
      if (left > 0) this.#inFlight.set(name, left);
      else this.#inFlight.delete(name);
    });
  }
}

/**
 * Relative cost of a request for a facade and core: of those with 5, one of an account runs at a time beside other
 * accounts. Load-balancing requests cost their workers.
 */
const WEIGHTS: Partial<Record<LimitedOperation, { weight: number; waits: boolean }>> = {
  run: { weight: 1, waits: false },
  runsync: { weight: 1, waits: true },
  openai: { weight: 1, waits: true },
  status: { weight: 1, waits: true },
  stream: { weight: 2, waits: true },
  cancel: { weight: 1, waits: false },
  retry: { weight: 1, waits: false },
  'purge-queue': { weight: 2, waits: false },
  requests: { weight: 5, waits: false },
  logs: { weight: 2, waits: true },
  health: { weight: 1, waits: false },
  management: { weight: 5, waits: false },
  live: { weight: 4, waits: true },
};
/** Bytes of a body that weigh as much as a small request. */
const BODY_WEIGHT_BYTES = 512 * 1024;
/** Larger bodies usually arrive after their headers and must be waited for. */
const BODY_AT_ONCE_BYTES = 64 * 1024;

/** Returns whether the body of a request needs a turn among the large bodies. */
function isLargeBody(weight: number, bodyBytes: number): boolean {
  return weight >= REST_WEIGHT_MIN && bodyBytes > BODY_AT_ONCE_BYTES;
}

/** Operations with limits of another kind (RATE_RULES). */
const NOT_JOB_API: ReadonlySet<LimitedOperation> = new Set(['lb', 'models', 'management', 'live']);

/** Operations on the wire. UNSPECIFIED for operations without an endpoint. */
const ON_WIRE: Record<LimitedOperation, RequestOperation> = {
  runsync: RequestOperation.RUNSYNC,
  run: RequestOperation.RUN,
  status: RequestOperation.STATUS,
  stream: RequestOperation.STREAM,
  cancel: RequestOperation.CANCEL,
  retry: RequestOperation.RETRY,
  'purge-queue': RequestOperation.PURGE_QUEUE,
  openai: RequestOperation.OPENAI,
  models: RequestOperation.UNSPECIFIED,
  requests: RequestOperation.REQUESTS,
  logs: RequestOperation.LOGS,
  health: RequestOperation.HEALTH,
  lb: RequestOperation.LB,
  management: RequestOperation.UNSPECIFIED,
  live: RequestOperation.UNSPECIFIED,
};

const WORDS: Partial<Record<LimitedOperation, string>> = {
  lb: 'requests to the endpoint',
  models: 'requests to /openai/v1',
  management: 'requests to REST and to /graphql',
  live: 'pages of the console',
};

function tooManyRequests(operation: LimitedOperation, decision: RateDecision & { allowed: false }): TooManyRequests {
  const what = WORDS[operation] ?? `requests to ${operation}`;
  const text =
    decision.cause === 'rate'
      ? `More than ${decision.limit} ${what} in ${REQUEST_WINDOW_SECONDS} s; try again in ` +
        `${decision.retryAfterSeconds} s.`
      : `More than ${decision.limit} ${what} at a time; try again shortly.`;
  return new TooManyRequests(text, decision.retryAfterSeconds);
}
