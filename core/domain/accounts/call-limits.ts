/** Limits on the management calls and explanations of an account at one replica. Jobs have their own limits. */

/**
 * Most calls to the management services in a window. Facades let 1,000 requests through in that time
 * (facades/plugins/limits/rate-limit-rules.ts), and one request may take several calls. The limit also covers callers
 * that call core directly.
 */
export const MANAGEMENT_CALLS_MAX = 5_000;
/**
 * Most explanations of endpoints and jobs together: each reads all machines, workers and the queue. Facades let 10
 * through for each endpoint.
 */
export const EXPLANATIONS_MAX = 200;
/** Length of the window in milliseconds. */
export const CALLS_WINDOW_MS = 10_000;
