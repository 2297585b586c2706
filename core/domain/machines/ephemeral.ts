/** Machines that stay for a time, and are forgotten when they leave. */

/** Its last jobs end this long before a machine leaves, in milliseconds: workers are drained every 5 s. */
export const LEAVE_MARGIN_MS = 15_000;
/** Minutes for which an ephemeral machine may be away until it counts as left. */
export const AWAY_MINUTES_MAX = 10;
