/**
 * Times of parts that share a fact by repeating it over a connection. Whoever forgets what it heard must wait for longer than a dead connection stays
 * unnoticed, another one takes to open, and the fact takes to be repeated: silence means that nothing is known, never that there is nothing. Relations are
 * checked when the file loads.
 */

const SUBSCRIPTION_MS = 15_000;

/** All in milliseconds. Tests divide them by ten before anything else reads them (test/helpers/short-timers.ts). */
export const LINK_TIMERS = {
  /** Pauses between two demands of an endpoint that a facade tells core: after a change, and at the latest. */
  demandChangedMs: 1_000,
  demandRepeatMs: 4_000,
  /** How long after the end of its last request a facade goes on telling of an endpoint. */
  demandRememberedMs: 60_000,
  /** How long core tells a stream of an endpoint's changes after the last demand; it looks this often, so at most twice as long. */
  subscriptionMs: SUBSCRIPTION_MS,
  /** How long a facade keeps what it knows of an endpoint after its last demand where core compares no versions. */
  unversionedKeptMs: 2 * SUBSCRIPTION_MS + 5_000,
  /** How long requests wait at a facade without core's word of the endpoint's workers before that is logged. */
  rotationMissedMs: 5_000,
};

const { demandChangedMs, demandRepeatMs, subscriptionMs } = LINK_TIMERS;
if (demandRepeatMs + demandChangedMs >= subscriptionMs) throw new Error('a subscription must outlive the pause between two demands');
