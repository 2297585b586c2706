/** Rates, times and outcomes of requests to a load-balancing endpoint, from its counters. Pure. */
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import { REQUEST_OUTCOMES } from '@slipway/kit/observe/request-counts';
import { quantileOf } from '../domain/scaling/traffic.ts';

/** Requests of a period, or of a worker. */
export interface RequestStats {
  requests: number;
  succeeded: number;
  redirected: number;
  clientErrors: number;
  serverErrors: number;
  broken: number;
  abandoned: number;
  bytesIn: number;
  bytesOut: number;
  durationMs: number;
  duration: { count: number; p50Ms: number; p95Ms: number; p99Ms: number };
}

/** Powers of two, in milliseconds, that bound the histogram of all requests: 1 ms to about two minutes. */
const BOUND_EXPONENT_MAX = 17;

/** Returns the stats of counted requests. */
export function requestStats({ outcomes, bytesIn, bytesOut, durationMs, durations }: RequestCounts): RequestStats {
  const of = (name: (typeof REQUEST_OUTCOMES)[number]): number => outcomes[REQUEST_OUTCOMES.indexOf(name)] ?? 0;
  const at = (share: number): number => Math.round(quantileOf(durations, share));
  const requests = sum(outcomes);
  return {
    requests,
    succeeded: of('SUCCEEDED'),
    redirected: of('REDIRECTED'),
    clientErrors: of('CLIENT_ERROR'),
    serverErrors: of('SERVER_ERROR'),
    broken: of('BROKEN'),
    abandoned: of('ABANDONED'),
    bytesIn,
    bytesOut,
    durationMs,
    duration: { count: sum(durations), p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) },
  };
}

/** Returns how many durations are at most as long as each bound, in seconds. */
export function durationCounts(durations: readonly number[]): { atMostSeconds: number; count: number }[] {
  // Bin n ends at 2^(n/2) ms.
  return Array.from({ length: BOUND_EXPONENT_MAX + 1 }, (_, exponent) => ({
    atMostSeconds: 2 ** exponent / 1_000,
    count: sum(durations.slice(0, 2 * exponent + 1)),
  }));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
