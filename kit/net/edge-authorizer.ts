/**
 * What an edge asks about each request to a load-balancing endpoint, and what it is answered
 * (facades/activator/authorizer.ts); what workers say.
 */

/** Prefix of the path that is asked about. */
export const AUTHORIZE_PATH = '/edge/authorize';
/** The edges' key, in the question. */
export const EDGE_KEY_HEADER = 'x-slipway-edge-key';
/**
 * In the answer: the request may go straight to a worker, by the cluster of this name. Without it, it goes to a facade
 * as it is.
 */
export const CLUSTER_HEADER = 'x-slipway-cluster';
/** The path as the worker sees it, without the query. */
export const PATH_HEADER = 'x-slipway-path';
/** Longest time until the answer is whole, in milliseconds. */
export const TIMEOUT_HEADER = 'x-envoy-upstream-rq-timeout-ms';
/** Header by which a worker says, on a 503 or 429, that it is full and has done nothing. */
export const FULL_HEADER = 'x-slipway-full';

/**
 * By GET of this path, with the edges' key, a facade says by what it decides besides keys and workers:
 * AuthorizerSettings as JSON.
 */
export const AUTHORIZER_SETTINGS_PATH = '/edge/settings';

/** By GET of this path an authorizer beside an Envoy says whether it is ready: 200, else 503. */
export const AUTHORIZER_READY_PATH = '/readyz';

/** Set at the facades alone; whoever decides beside an Envoy decides as they do. */
export interface AuthorizerSettings {
  /** Host names behind an endpoint's id that make the host form of load-balancing endpoints. */
  domains: readonly string[];
  /** Host names behind a pod's id and port. */
  podDomains: readonly string[];
  /** Longest wait for a worker, in milliseconds. */
  holdMs: number;
  /** Longest time at a worker, in milliseconds. */
  processingMs: number;
  /**
   * Requests per 10 s, and at a time, that every running worker adds to what an endpoint may get; null: there are no
   * limits.
   */
  perWorker: { rate: number; concurrency: number } | null;
}

/** Cluster of an endpoint's workers. */
export function clusterName(endpointId: string): string {
  return `ep-${endpointId}`;
}

/** Returns the endpoint of a cluster. `undefined` if it is none. */
export function endpointOfCluster(name: string): string | undefined {
  return name.startsWith('ep-') ? name.slice(3) : undefined;
}
