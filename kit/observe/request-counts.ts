/** Counts of requests to workers of load-balancing endpoints, as facades, edges and core exchange them. */

/**
 * Outcomes in the order of the counts: status below 300, below 400, below 500, from 500; a response that broke off; a
 * client that left before its end.
 */
export const REQUEST_OUTCOMES = [
  'SUCCEEDED',
  'REDIRECTED',
  'CLIENT_ERROR',
  'SERVER_ERROR',
  'BROKEN',
  'ABANDONED',
] as const;

/** Outcome of a request. */
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

/** Number of bins of a histogram of durations: up to about 12 days. */
export const DURATION_BINS_MAX = 62;
/** Most failed requests of an endpoint in one report, and most characters of their paths. */
export const FAILED_REPORTED_MAX = 20;
export const FAILED_PATH_LENGTH_MAX = 512;

/** Counted requests. */
export interface RequestCounts {
  /** Number by outcome, in the order of REQUEST_OUTCOMES. */
  outcomes: number[];
  /** Bytes of bodies. */
  bytesIn: number;
  bytesOut: number;
  /** Sum and histogram of the durations. */
  durationMs: number;
  durations: number[];
}

/** An ended request. */
export interface EndedRequest {
  outcome: RequestOutcome;
  bytesIn: number;
  bytesOut: number;
  durationMs: number;
}

/** Returns the bin of a duration, as core's histograms of traffic have them: bin n counts about 2^(n/2) ms. */
export function durationBin(ms: number): number {
  return ms < 1 ? 0 : Math.min(1 + Math.floor(Math.log2(ms) * 2), DURATION_BINS_MAX - 1);
}

/** Returns the outcome of a complete response. */
export function outcomeOf(status: number): RequestOutcome {
  if (status < 300) return 'SUCCEEDED';
  if (status < 400) return 'REDIRECTED';
  return status < 500 ? 'CLIENT_ERROR' : 'SERVER_ERROR';
}

/** Returns counts of nothing. */
export function noRequests(): RequestCounts {
  return { outcomes: REQUEST_OUTCOMES.map(() => 0), bytesIn: 0, bytesOut: 0, durationMs: 0, durations: [] };
}

/** Counts a request. */
export function countRequest(counts: RequestCounts, { outcome, bytesIn, bytesOut, durationMs }: EndedRequest): void {
  counts.outcomes[REQUEST_OUTCOMES.indexOf(outcome)]! += 1;
  counts.bytesIn += bytesIn;
  counts.bytesOut += bytesOut;
  counts.durationMs += durationMs;
  const bin = durationBin(durationMs);
  while (counts.durations.length <= bin) counts.durations.push(0);
  counts.durations[bin]! += 1;
}

/** Adds counts to a sum. */
export function addRequests(sum: RequestCounts, more: RequestCounts): void {
  for (const [index, count] of more.outcomes.entries()) sum.outcomes[index]! += count;
  sum.bytesIn += more.bytesIn;
  sum.bytesOut += more.bytesOut;
  sum.durationMs += more.durationMs;
  while (sum.durations.length < more.durations.length) sum.durations.push(0);
  for (const [bin, count] of more.durations.entries()) sum.durations[bin]! += count;
}
