/** How much of management and of explanations one account may ask of a replica. Jobs have limits of their own. */

/**
 * Calls to the management services in a window. Facades let 1,000 requests through in that time
 * (facades/plugins/limits/rate-limit-rules.ts), and one may take several calls; this is for those who call core themselves as
 * well.
 */
export const MANAGEMENT_CALLS_MAX = 5_000;
/**
 * Explanations of endpoints and jobs together: each reads all machines, workers and the queue. Facades let 10 through
 * for each endpoint.
 */
export const EXPLANATIONS_MAX = 200;
/** Length of the window in milliseconds. */
export const CALLS_WINDOW_MS = 10_000;
