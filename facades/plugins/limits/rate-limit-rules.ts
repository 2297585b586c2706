/**
 * Limits of docs/reference/api.md#rate-limits as a table, and the decision by them. This module neither counts nor
 * responds.
 */

import { LB_REQUESTS_AT_ONCE } from '@slipway/proto/wire/limits';

/** Operations with their own limit. status-sync counts as status. */
export type LimitedOperation =
  | 'runsync'
  | 'run'
  | 'status'
  | 'stream'
  | 'cancel'
  | 'retry'
  | 'purge-queue'
  | 'openai'
  | 'models'
  | 'requests'
  | 'logs'
  | 'health'
  | 'lb'
  | 'management'
  | 'live';

/** Base limits of one operation: per account and endpoint, or per account for management and live. */
interface RateRule {
  /** Requests in a window of REQUEST_WINDOW_SECONDS. */
  rate: number;
  /** Concurrent requests. `undefined` if unlimited. */
  concurrency: number | undefined;
}

/** Limits of docs/reference/api.md#rate-limits. No published limits exist for retry and health. */
export const RATE_RULES: Record<LimitedOperation, RateRule> = {
  runsync: { rate: 2_000, concurrency: 400 },
  run: { rate: 1_000, concurrency: 200 },
  status: { rate: 2_000, concurrency: 400 },
  stream: { rate: 2_000, concurrency: 400 },
  cancel: { rate: 100, concurrency: 20 },
  retry: { rate: 100, concurrency: 20 },
  'purge-queue': { rate: 2, concurrency: undefined },
  openai: { rate: 2_000, concurrency: 400 },
  // Requests to the OpenAI address of an account, of all its models. Each counts at its endpoint too.
  models: { rate: 20_000, concurrency: LB_REQUESTS_AT_ONCE },
  requests: { rate: 10, concurrency: 2 },
  // Our own limit. A live feed counts for as long as it is open.
  logs: { rate: 100, concurrency: 20 },
  health: { rate: 2_000, concurrency: undefined },
  // For load-balancing endpoints, whose workers have their own limits. No published limit exists.
  lb: { rate: 20_000, concurrency: LB_REQUESTS_AT_ONCE },
  // REST and GraphQL together, per account. Several times the needs of consoles and deployments.
  management: { rate: 1_000, concurrency: 100 },
  // Feeds of the console count while they are open. They have their own limit, so that a hundred tabs do not keep a
  // program from managing its resources.
  live: { rate: 300, concurrency: 100 },
};

/** Amounts that each running worker adds to a limit. */
export interface PerWorker {
  /** Requests in a window. */
  rate: number;
  /** Concurrent requests. */
  concurrency: number;
}

/** Counts at the time of the decision, including this request. */
interface RateSample {
  /** Requests in the current window. */
  inWindow: number;
  /** Requests in flight. */
  inFlight: number;
  /** Milliseconds until the window ends. */
  windowLeftMs: number;
  /** Running workers of the endpoint. */
  workersRunning: number;
}

/** Result of a decision: allowed, or rejected with the cause and the seconds to wait. */
export type RateDecision =
  | { allowed: true }
  | { allowed: false; cause: 'rate' | 'concurrency'; limit: number; retryAfterSeconds: number };

/** Returns the larger of the base limit and the limit by running workers (docs/reference/api.md#rate-limits). */
export function effectiveLimit(base: number, workersRunning: number, perWorker: number): number {
  return Math.max(base, workersRunning * perWorker);
}

/** Decides about one request. */
export function decideRate(rule: RateRule, sample: RateSample, perWorker: PerWorker): RateDecision {
  const rate = effectiveLimit(rule.rate, sample.workersRunning, perWorker.rate);
  if (sample.inWindow > rate) {
    return {
      allowed: false,
      cause: 'rate',
      limit: rate,
      retryAfterSeconds: Math.max(1, Math.ceil(sample.windowLeftMs / 1000)),
    };
  }
  if (rule.concurrency === undefined) return { allowed: true };
  const concurrency = effectiveLimit(rule.concurrency, sample.workersRunning, perWorker.concurrency);
  if (sample.inFlight > concurrency)
    return { allowed: false, cause: 'concurrency', limit: concurrency, retryAfterSeconds: 1 };
  return { allowed: true };
}
