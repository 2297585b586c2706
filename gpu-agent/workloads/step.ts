/**
 * Decides the next actions for a workload, a worker or a pod, by one level-triggered rule for both. It compares the
 * desired state, the observed state and the time, and keeps no state. The driver (workload.ts) runs the
 * actions and evaluates the rule again after every change. Pure.
 *
 *   unknown > adopting > absent or running
 *   absent, exited, cleaned > preparing > running <> freezing > frozen > running
 *   running, frozen > offloading > offloaded > restoring > running
 *   preparing, and all in which it runs > exited (a worker: for good; a pod: until it is tried again), or absent
 *   absent, exited, cleaned > cleaning > cleaned
 *   absent, exited, cleaned > removing > removed, or back to absent or exited
 */

/**
 * Desired state of a workload. running: it runs. standby: it is frozen, with everything it has in memory, once it holds
 * no attempts. host-standby: the same, and its GPU memory is moved to host memory. draining: it gets no new work and
 * ends when it holds none. stopped: it does not run, and its files stay. absent: it does not run, and its files are
 * removed. shutdown: the agent shuts down; the workload must not run here, and nothing is decided about it.
 */
export type Want = 'running' | 'standby' | 'host-standby' | 'draining' | 'stopped' | 'absent' | 'shutdown';

/** The desired state with its versions. */
export interface Desired {
  readonly want: Want;
  /**
   * Number of the start. A workload that was started under another number is replaced. Workers have one start: always
   * 0.
   */
  readonly run: number;
  /** Number of the disk. Workers have none: always 0. */
  readonly disk: number;
}

/**
 * offloading and offloaded: its GPU memory is moved to host memory, and it is frozen; restoring: the way back.
 * unknown: not yet checked whether a previous agent left it running. absent: it does not run. exited: it ran, or
 * could not be started, and has ended, by itself or for good. cleaned: it does not run, and its files have been cleaned
 * up. removed: removed for good.
 */
export type Phase =
  | 'unknown'
  | 'adopting'
  | 'absent'
  | 'preparing'
  | 'running'
  | 'freezing'
  | 'frozen'
  | 'offloading'
  | 'offloaded'
  | 'restoring'
  | 'exited'
  | 'cleaning'
  | 'cleaned'
  | 'removing'
  | 'removed';

/** Observed state of a workload. */
export interface Observed {
  readonly phase: Phase;
  /** Since when it is in this phase, by the monotonic clock. */
  readonly sinceMs: number;
  /**
   * The versions that were prepared or run. `undefined` if there are none, or if the workload was adopted and is as
   * desired.
   */
  readonly made: { readonly run: number; readonly disk: number } | undefined;
  /** It holds attempts. */
  readonly busy: boolean;
  /** It has asked for work since its start. */
  readonly asked: boolean;
  /** The agent itself has decided to end it: gracefully (`stop`) or at once (`kill`). */
  readonly endRequested: 'stop' | 'kill' | undefined;
  /** Its preparation is no longer needed and was cancelled. */
  readonly abandoned: boolean;
  /** When it was asked to end. That cannot be undone. */
  readonly stopAskedAtMs: number | undefined;
  readonly killed: boolean;
  /** Earliest time of the next start, removal or freeze. Infinity: not until the desired state changes. */
  readonly retryAtMs: number | undefined;
  /** Number of the disk for which its files were last cleaned up. */
  readonly cleanedDisk: number | undefined;
}

/** Rules for one kind of workload. */
export interface Policy {
  /** The workload is started again when it ends. If false, it ends once and for good. */
  readonly restarts: boolean;
  /** How long it may take to end after it was asked to, in milliseconds. */
  readonly graceMs: number;
  /** How long it may take from its start until it asks for work, in milliseconds. `undefined` if it never asks. */
  readonly initTimeoutMs: number | undefined;
}

/**
 * Why a workload ends. unwanted: the desired state says so. replaced: another run or disk is desired. agent: the
 * agent decided it. late: it did not ask for work in time. grace: it did not end in time.
 */
export type EndCause = 'unwanted' | 'replaced' | 'agent' | 'late' | 'grace';

/** The next action. `abandon`: end a preparation. `clean`: clean up its files, for this disk if one is named. */
export type Action =
  | { readonly do: 'adopt' | 'prepare' | 'freeze' | 'thaw' | 'offload' | 'restore' }
  | { readonly do: 'abandon' | 'stop' | 'kill'; readonly why: EndCause }
  | { readonly do: 'clean'; readonly disk: number | undefined }
  | { readonly do: 'remove' };

/** More actions in a row than a workload has phases. Reaching this means that the rule loops. */
export const ACTIONS_MAX = 20;

/** Phases that may follow each phase. Any other transition is an error. */
const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  unknown: ['adopting'],
  adopting: ['absent', 'running', 'offloaded'],
  absent: ['preparing', 'cleaning', 'removing'],
  preparing: ['running', 'absent', 'exited'],
  running: ['freezing', 'offloading', 'absent', 'exited'],
  freezing: ['frozen', 'running', 'absent', 'exited'],
  frozen: ['running', 'offloading', 'absent', 'exited'],
  offloading: ['offloaded', 'absent', 'exited'],
  offloaded: ['restoring', 'absent', 'exited'],
  restoring: ['running', 'absent', 'exited'],
  exited: ['preparing', 'cleaning', 'removing'],
  cleaning: ['cleaned'],
  cleaned: ['preparing', 'cleaning', 'removing'],
  removing: ['absent', 'exited', 'removed'],
  removed: [],
};

/** Returns the next phase. Throws an Error that names both phases if the transition is not allowed. */
export function advance(from: Phase, to: Phase): Phase {
  if (!NEXT[from].includes(to)) throw new Error(`a workload that is ${from} cannot become ${to}`);
  return to;
}

/** Returns whether the workload runs in this phase, standby included. */
export function isLive(phase: Phase): boolean {
  return phase === 'running' || phase === 'freezing' || phase === 'frozen' || hasMoved(phase);
}

/** Returns whether it is not known in this phase if a previous agent left the workload running. */
export function isUnchecked(phase: Phase): boolean {
  return phase === 'unknown' || phase === 'adopting';
}

/** Returns whether its GPU memory is in host memory, or on the way. It cannot end gracefully then. */
export function hasMoved(phase: Phase): boolean {
  return phase === 'offloading' || phase === 'offloaded' || phase === 'restoring';
}

/** Returns the actions to take now; empty if the agent only has to wait. */
export function step(desired: Desired, observed: Observed, policy: Policy, nowMs: number): Action[] {
  switch (observed.phase) {
    case 'unknown':
      return [{ do: 'adopt' }];
    case 'preparing':
      return stepPreparing(desired, observed, policy, nowMs);
    case 'running':
    case 'freezing':
    case 'frozen':
    case 'offloading':
    case 'offloaded':
    case 'restoring':
      return stepLive(desired, observed, policy, nowMs);
    case 'absent':
    case 'exited':
    case 'cleaned':
      return stepStill(desired, observed, policy, nowMs);
    // These phases end by themselves.
    case 'adopting':
    case 'cleaning':
    case 'removing':
    case 'removed':
      return [];
  }
}

function stepPreparing(desired: Desired, observed: Observed, policy: Policy, nowMs: number): Action[] {
  const end = endOf(desired, observed, policy, nowMs);
  return end && !observed.abandoned ? [{ do: 'abandon', why: end.why }] : [];
}

function stepLive(desired: Desired, observed: Observed, { graceMs, ...policy }: Policy, nowMs: number): Action[] {
  const { phase, stopAskedAtMs, killed } = observed;
  if (killed) return [];
  const end = endOf(desired, observed, { graceMs, ...policy }, nowMs);
  // A program waits for its GPU before it handles a signal, and it has no job: nothing is lost with it.
  if (end && (end.how === 'kill' || hasMoved(phase))) return [{ do: 'kill', why: end.why }];
  if (stopAskedAtMs !== undefined) return nowMs - stopAskedAtMs > graceMs ? [{ do: 'kill', why: 'grace' }] : [];
  if (end) return [{ do: 'stop', why: end.why }];
  return stepStandby(desired, observed, nowMs);
}

function stepStandby({ want }: Desired, observed: Observed, nowMs: number): Action[] {
  const { phase } = observed;
  const isHost = want === 'host-standby';
  if (phase === 'running' && (isHost || want === 'standby'))
    return mayFreeze(observed, nowMs) ? [{ do: isHost ? 'offload' : 'freeze' }] : [];
  if (phase === 'frozen') return want === 'standby' ? [] : [{ do: isHost ? 'offload' : 'thaw' }];
  // Without room on its GPUs nothing is restored, and only `running` says that there is some.
  return phase === 'offloaded' && want === 'running' ? [{ do: 'restore' }] : [];
}

function mayFreeze({ asked, busy, retryAtMs = 0 }: Observed, nowMs: number): boolean {
  return asked && !busy && nowMs >= retryAtMs;
}

function stepStill(desired: Desired, observed: Observed, policy: Policy, nowMs: number): Action[] {
  const { phase, endRequested, retryAtMs = 0, cleanedDisk } = observed;
  const { want, disk } = desired;
  if (!policy.restarts && (phase === 'exited' || want !== 'running' || endRequested))
    return nowMs >= retryAtMs ? [{ do: 'remove' }] : [];
  if (want === 'stopped') return phase === 'cleaned' && cleanedDisk === disk ? [] : [{ do: 'clean', disk }];
  if (want === 'shutdown') return phase === 'cleaned' ? [] : [{ do: 'clean', disk: undefined }];
  if (nowMs < retryAtMs) return [];
  return want === 'absent' ? [{ do: 'remove' }] : [{ do: 'prepare' }];
}

/** Returns how to end what is prepared or runs, and why. `undefined` if it should not end. */
function endOf(
  desired: Desired,
  observed: Observed,
  policy: Policy,
  nowMs: number,
): { how: 'stop' | 'kill'; why: EndCause } | undefined {
  const { want } = desired;
  const { phase, endRequested, busy, made, asked, sinceMs } = observed;
  if (endRequested) return { how: endRequested, why: 'agent' };
  // Its attempts are not waited for.
  if (want === 'absent') return { how: busy ? 'kill' : 'stop', why: 'unwanted' };
  if (want === 'stopped' || want === 'shutdown' || (want === 'draining' && !busy))
    return { how: 'stop', why: 'unwanted' };
  if (made && (made.run !== desired.run || made.disk !== desired.disk)) return { how: 'stop', why: 'replaced' };
  const isLate =
    phase === 'running' && !asked && policy.initTimeoutMs !== undefined && nowMs - sinceMs > policy.initTimeoutMs;
  return isLate ? { how: 'kill', why: 'late' } : undefined;
}
