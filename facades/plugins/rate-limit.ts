/** Counts requests per account, endpoint and operation, and acts on the decision of rate-limit-rules.ts. Counts are per process. */
import type { FastifyReply } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { SharedPlaces } from '../../core/runtime/shared-places.ts';
import { FACADE_REQUESTS_MAX } from '../../proto/wire/limits.ts';
import { TooManyRequests } from './public-error.ts';
import { RecentRefusals } from './recent-refusals.ts';
import { decideRate, RATE_RULES, RATE_WINDOW_SECONDS } from './rate-limit-rules.ts';
import type { LimitedOperation, PerWorker, RateDecision } from './rate-limit-rules.ts';

/** Whose request it is. */
export interface LimitedRequest {
  accountId: string;
  endpointId: string;
  operation: LimitedOperation;
  workersRunning: number;
  /** Most requests of the account to the job API in a window; undefined: no limit. */
  requestQuota?: number | undefined;
}

/** A request was refused: because of what limit. */
export type OnRefused = (operation: LimitedOperation, cause: 'rate' | 'concurrency' | 'quota') => void;

export class RateLimit {
  readonly #perWorker: PerWorker;
  readonly #onRefused: OnRefused;
  /** What was refused lately. */
  readonly refusals = new RecentRefusals();
  readonly #inFlight = new Map<string, number>();
  /** Requests to the job API under way, of each account. */
  readonly #share = new SharedPlaces(FACADE_REQUESTS_MAX);
  // The library only counts; its own maximum is out of reach because the limit moves with the workers.
  readonly #window = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: RATE_WINDOW_SECONDS });

  /** `onRefused` counts refusals; default: nobody does. */
  constructor(perWorker: PerWorker, onRefused: OnRefused = () => undefined) {
    this.#perWorker = perWorker;
    this.#onRefused = onRefused;
  }

  /**
   * Counts a request until its answer has gone or its client has; throws TooManyRequests. A refused request counts for the rate. Without `reply` somebody
   * else sees its end and bounds how many there are at a time.
   */
  async admit(request: LimitedRequest, reply?: Pick<FastifyReply, 'raw'>): Promise<void> {
    const { operation, workersRunning } = request;
    if (operation !== 'management' && operation !== 'live' && request.requestQuota !== undefined) await this.#withinQuota(request, request.requestQuota);
    const name = `${operation} ${request.accountId} ${request.endpointId}`;
    const { rate, concurrency } = RATE_RULES[operation];
    const rule = { rate, concurrency: reply && concurrency };
    const window = await this.#window.consume(name);
    const inFlight = (this.#inFlight.get(name) ?? 0) + 1;
    const sample = { inWindow: window.consumedPoints, windowLeftMs: window.msBeforeNext, inFlight, workersRunning };
    const decision = decideRate(rule, sample, this.#perWorker);
    if (!decision.allowed) {
      this.#onRefused(operation, decision.cause);
      const [limit, most] = decision.cause === 'rate' ? ['REQUEST_RATE', `in ${RATE_WINDOW_SECONDS} s`] as const : ['REQUESTS_AT_ONCE', 'at a time'] as const;
      this.refusals.add(request.accountId, request.endpointId, { limit, what: `requests to ${operation}`, most: `${decision.limit} ${most}` });
      throw refusal(operation, decision);
    }
    if (reply && concurrency !== undefined) this.#hold(name, { inFlight, request }, reply);
  }

  #refuseShare({ accountId, operation }: LimitedRequest): TooManyRequests {
    this.#onRefused(operation, 'concurrency');
    const most = 'an account\'s share of the requests that this facade has under way';
    this.refusals.add(accountId, '', { limit: 'REQUESTS_AT_ONCE', what: 'requests of the account', most });
    return new TooManyRequests('The account has so many requests under way that none is left to it while others need the rest; try again shortly.', 1);
  }

  /** The account's own limit, whatever its endpoints are allowed. */
  async #withinQuota({ accountId, operation }: LimitedRequest, quota: number): Promise<void> {
    const { consumedPoints, msBeforeNext } = await this.#window.consume(`quota ${accountId}`);
    if (consumedPoints <= quota) return;
    this.#onRefused(operation, 'quota');
    const most = `the account's quota of ${quota} requests in ${RATE_WINDOW_SECONDS} s`;
    this.refusals.add(accountId, '', { limit: 'REQUEST_QUOTA', what: 'requests of the account', most });
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
    throw new TooManyRequests(`The account's quota of ${quota} requests in ${RATE_WINDOW_SECONDS} s is used up; try again in ${seconds} s.`, seconds);
  }

  #hold(name: string, { inFlight, request }: { inFlight: number; request: LimitedRequest }, reply: Pick<FastifyReply, 'raw'>): void {
    if (reply.raw.closed) return;
    const { accountId, operation } = request;
    const isShared = !NOT_OF_JOBS.has(operation);
    if (isShared && !this.#share.enter(accountId)) throw this.#refuseShare(request);
    this.#inFlight.set(name, inFlight);
    reply.raw.once('close', () => {
      if (isShared) this.#share.leave(accountId);
      const left = (this.#inFlight.get(name) ?? 1) - 1;
      if (left > 0) this.#inFlight.set(name, left);
      else this.#inFlight.delete(name);
    });
  }
}

/** What is bounded in other ways: see RATE_RULES. */
const NOT_OF_JOBS: ReadonlySet<LimitedOperation> = new Set(['lb', 'management', 'live']);

const WORDS: Partial<Record<LimitedOperation, string>> = {
  lb: 'requests to the endpoint', management: 'requests under /v1 and to /graphql', live: 'pages of the console',
};

function refusal(operation: LimitedOperation, decision: RateDecision & { allowed: false }): TooManyRequests {
  const what = WORDS[operation] ?? `requests to ${operation}`;
  const text = decision.cause === 'rate'
    ? `More than ${decision.limit} ${what} in ${RATE_WINDOW_SECONDS} s; try again in ${decision.retryAfterSeconds} s.`
    : `More than ${decision.limit} ${what} at a time; try again shortly.`;
  return new TooManyRequests(text, decision.retryAfterSeconds);
}
