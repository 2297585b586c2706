/** How much of management one account may ask of a replica. Jobs have limits of their own. */

/**
 * Calls in a window. Facades let 1,000 requests through in that time (facades/plugins/rate-limit-rules.ts), and one may take several calls; this
 * is for those who call core themselves as well.
 */
export const MANAGEMENT_CALLS_MAX = 5_000;
/** Length of the window in milliseconds. */
export const MANAGEMENT_WINDOW_MS = 10_000;
