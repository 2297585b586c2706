/** Views of requests to load-balancing endpoints that the console's server sends to its page. */
import type { PercentilesView } from './views-of-times.ts';

/** Requests of a step or of a worker. */
export interface RequestSumView {
  /** Start of the step. 0 in sums over all steps. */
  atMs: number;
  /** Empty in sums over workers, and for requests that no worker got. */
  workerId: string;
  requests: number;
  succeeded: number;
  redirected: number;
  clientErrors: number;
  serverErrors: number;
  broken: number;
  abandoned: number;
  bytesIn: number;
  bytesOut: number;
  duration: PercentilesView;
}

/** A failed request. */
interface FailedRequestView {
  atMs: number;
  method: string;
  path: string;
  hasQuery: boolean;
  status: number;
  durationMs: number;
  workerId: string;
  cause: string;
}

/** Requests of a span. Steps in which none ended are left out. */
export interface RequestStatsView {
  nowMs: number;
  sinceMs: number;
  stepMs: number;
  total: RequestSumView | null;
  steps: readonly RequestSumView[];
  workers: readonly RequestSumView[];
  failed: readonly FailedRequestView[];
}
