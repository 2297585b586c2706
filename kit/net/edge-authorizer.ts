/**
 * Names and settings of the protocol by which an edge authorizes each request to a load-balancing endpoint
 * (facades/activator/authorizer.ts), and of the headers that workers set.
 */

/** Prefix of the path of an authorization request. */
export const AUTHORIZE_PATH = '/edge/authorize';
/** Header of the authorization request with the edges' key. */
export const EDGE_KEY_HEADER = 'x-slipway-edge-key';
/**
 * Response header: the request may go directly to a worker, by the cluster of this name. Without it, the request goes
 * to a facade unchanged.
 */
export const CLUSTER_HEADER = 'x-slipway-cluster';
/** Response header with the path as the worker sees it, without the query. */
export const PATH_HEADER = 'x-slipway-path';
/** Response header with the longest time until the response is complete, in milliseconds. */
export const TIMEOUT_HEADER = 'x-envoy-upstream-rq-timeout-ms';
/** Header by which a worker reports, on a 503 or 429, that it is full and has done nothing. */
export const FULL_HEADER = 'x-slipway-full';

/**
 * Path at which a facade returns, for a GET with the edges' key, the AuthorizerSettings as JSON: what it decides by
 * besides keys and workers.
 */
export const AUTHORIZER_SETTINGS_PATH = '/edge/settings';

/** Path at which an authorizer beside an Envoy reports, for a GET, whether it is ready: 200, else 503. */
export const AUTHORIZER_READY_PATH = '/readyz';

/** Settings that are configured at the facades only. An authorizer beside an Envoy decides by the same ones. */
export interface AuthorizerSettings {
  /** Domains whose subdomains by endpoint id are the host form of load-balancing endpoints. */
  domains: readonly string[];
  /** Domains whose subdomains by pod id and port are the host form of pods. */
  podDomains: readonly string[];
  /** Longest wait for a worker, in milliseconds. */
  holdMs: number;
  /** Longest time at a worker, in milliseconds. */
  processingMs: number;
  /**
   * Requests per 10 s, and concurrent requests, that every running worker adds to an endpoint's limits. Null: there are
   * no limits.
   */
  perWorker: { rate: number; concurrency: number } | null;
}

/** Returns the name of the cluster of an endpoint's workers. */
export function clusterName(endpointId: string): string {
  return `ep-${endpointId}`;
}

/** Returns the endpoint of a cluster. `undefined` if the cluster is not an endpoint's. */
export function endpointOfCluster(name: string): string | undefined {
  return name.startsWith('ep-') ? name.slice(3) : undefined;
}
