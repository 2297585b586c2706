/**
 * Timers of parts that repeat a fact over a connection. The receiver must keep a fact for longer than it takes to
 * detect a dead connection, to open another, and to repeat the fact: silence means that nothing is known, never that
 * there is nothing. PAIRS lists all pairs; the relation is checked when the file loads.
 */

const SUBSCRIPTION_MS = 15_000;

/**
 * All in milliseconds. Some tests divide them before anything else reads them (test/helpers/time/divide-timers.ts).
 */
export const LINK_TIMERS = {
  /** Pauses between two reports of demand of an endpoint by a facade: after a change, and at the latest. */
  demandChangedMs: 1_000,
  demandRepeatMs: 4_000,
  /** How long a facade reports an endpoint after its last request has ended. */
  demandRememberedMs: 60_000,
  /**
   * How long core sends an endpoint's changes after the last demand. It checks this often, so at most twice as long.
   */
  subscriptionMs: SUBSCRIPTION_MS,
  /** How long a facade keeps what it knows of an endpoint after its last demand where core compares no versions. */
  unversionedKeptMs: 2 * SUBSCRIPTION_MS + 5_000,
  /** How long requests wait at a facade without an endpoint set before that is logged. */
  rotationMissedMs: 5_000,
  /** How long a report of a facade or edge is valid. */
  demandValidMs: 45_000,
  /**
   * After this long without a break, core has the reports of all that were cut off by a start or an outage: from then
   * on workers without requests are idle.
   */
  reportsSettleMs: 10_000,
  /**
   * An agent believes core that a draining worker has no clients only when their session has lasted this long.
   */
  drainSettleMs: 15_000,
  /** Pings of channels and of Envoys' connections: how often, and how long the answer may take. */
  pingMs: 20_000,
  pingAnswerMs: 10_000,
  /** The same of a facade's stream of demands: requests wait while core does not know of them. */
  demandPingMs: 5_000,
  demandPingAnswerMs: 5_000,
  /** Longest time until our own streams reconnect: one try and one pause. */
  reopenTryMs: 2_000,
  reopenPauseMs: 1_000,
  /**
   * Interval at which core replicas record that they run, validity of such a record, and intervals at which facades,
   * edges and agents list the replicas. Agents, of which there may be thousands, need it only when theirs leaves.
   */
  replicaBeatMs: 30_000,
  replicaValidMs: 120_000,
  replicaListMs: 30_000,
  agentReplicaListMs: 120_000,
  /** Interval of an Envoy's load reports. */
  loadReportMs: 1_000,
  /** Interval of a tunnel's pings, and the longest silence of the other side. */
  tunnelPingMs: 5_000,
  tunnelSilenceMs: 15_000,
};

/** An Envoy opens a broken stream of load reports again after this many milliseconds. It has no setting for it. */
export const LOAD_REOPEN_MS = 5_000;

/** A sender that repeats a fact and a receiver that forgets it. All in milliseconds. */
interface Pair {
  /** Name of the pair. */
  name: string;
  repeatMs: number;
  /** Longest time until the sender notices a dead connection. */
  detectMs: number;
  /** Longest time until it sends on a new connection. */
  reopenMs: number;
  /** After how long a silence the other forgets. */
  forgetMs: number;
}

const t = LINK_TIMERS;
const reopenMs = t.reopenTryMs + t.reopenPauseMs;

/** Every pair whose forgetting does harm. */
export const PAIRS: readonly Pair[] = [
  {
    name: 'demands of facades and edge authorizers, kept by core',
    repeatMs: t.demandRepeatMs + t.demandChangedMs,
    detectMs: t.demandPingMs + t.demandPingAnswerMs,
    reopenMs,
    forgetMs: t.demandValidMs,
  },
  {
    name: 'demands of facades of the last release, kept by core',
    repeatMs: t.demandRepeatMs + t.demandChangedMs,
    detectMs: t.pingMs + t.pingAnswerMs,
    reopenMs,
    forgetMs: t.demandValidMs,
  },
  {
    name: 'load reports of Envoys, kept by core',
    repeatMs: t.loadReportMs,
    detectMs: t.pingMs + t.pingAnswerMs,
    reopenMs: LOAD_REOPEN_MS,
    forgetMs: t.demandValidMs,
  },
  {
    name: 'reports after a start of core, before workers are idle',
    repeatMs: t.loadReportMs,
    detectMs: 0,
    reopenMs: LOAD_REOPEN_MS,
    forgetMs: t.reportsSettleMs,
  },
  {
    name: 'reports after a start of core, before an agent ends a draining worker',
    repeatMs: t.loadReportMs,
    detectMs: 0,
    reopenMs: LOAD_REOPEN_MS,
    forgetMs: t.drainSettleMs,
  },
  {
    name: 'interest of a facade in an endpoint, kept by core while the stream stands',
    repeatMs: t.demandRepeatMs + t.demandChangedMs,
    detectMs: 0,
    reopenMs: 0,
    forgetMs: t.subscriptionMs,
  },
  {
    name: 'answers of the other side of a tunnel, before it is taken for gone',
    repeatMs: t.tunnelPingMs,
    detectMs: t.tunnelPingMs,
    reopenMs: 0,
    forgetMs: t.tunnelSilenceMs,
  },
  {
    name: 'changes by a core without versions, kept by a facade that has stopped asking',
    repeatMs: 2 * t.subscriptionMs,
    detectMs: 0,
    reopenMs: 0,
    forgetMs: t.unversionedKeptMs,
  },
  {
    name: 'core replicas, kept in the list of all',
    repeatMs: t.replicaBeatMs,
    detectMs: t.pingMs + t.pingAnswerMs,
    reopenMs,
    forgetMs: t.replicaValidMs,
  },
];

for (const pair of PAIRS) {
  if (pair.forgetMs <= pair.repeatMs + pair.detectMs + pair.reopenMs)
    throw new Error(`${pair.name}: forgotten before it can be repeated`);
}
