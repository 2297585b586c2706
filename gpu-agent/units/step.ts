/**
 * What to do with a unit, a worker or a pod: one level-triggered rule for both. It looks at what is wanted, what is and
 * what time it is, says what to do now, and remembers nothing; the driver (unit.ts) carries it out and looks again
 * whenever anything has changed. Pure.
 *
 *   unknown > adopting > absent > preparing > running <> freezing > frozen         exited (a worker: for good, a pod:
 * until it is tried again) any of absent, exited, settled: > settling > settled, > removing > gone
 */

/**
 * run: it shall run. freeze: it shall stand still with all it has in memory, once it holds nothing. drain: it gets
 * nothing new and ends when it holds nothing. stand: nothing of it runs, its files stay. gone: nothing of it runs and
 * nothing stays. halt: the agent stops; nothing of it may run here and nothing is decided about it.
 */
export type Want = 'run' | 'freeze' | 'drain' | 'stand' | 'gone' | 'halt';

/** What is wanted of a unit. */
export interface Desired {
  readonly want: Want;
  /** Which start of it; what was started under another number is replaced. Workers have one start: always 0. */
  readonly run: number;
  /** Which disk it has. Workers have none: always 0. */
  readonly disk: number;
}

/**
 * unknown: nobody has looked whether it runs from before. absent: nothing of it runs. exited: it ran, or could not be
 * started, and has ended by itself or for good. settled: nothing of it runs, and its files are as they should stand.
 * gone: for good.
 */
export type Phase =
  | 'unknown'
  | 'adopting'
  | 'absent'
  | 'preparing'
  | 'running'
  | 'freezing'
  | 'frozen'
  | 'exited'
  | 'settling'
  | 'settled'
  | 'removing'
  | 'gone';

/** What a unit is at this moment. */
export interface Observed {
  readonly phase: Phase;
  /** Since when, by the steady clock. */
  readonly sinceMs: number;
  /** What was prepared or runs. Undefined: nothing, or it was adopted and is what is wanted. */
  readonly made: { readonly run: number; readonly disk: number } | undefined;
  /** It holds attempts. */
  readonly busy: boolean;
  /** It asked for work since its start. */
  readonly asked: boolean;
  /** The agent itself has decided that it ends: in order, or at once. */
  readonly condemned: 'stop' | 'kill' | undefined;
  /** What is being prepared is not wanted any more and was told so. */
  readonly abandoned: boolean;
  /** When it was asked to end. There is no way back from it. */
  readonly stopAskedAtMs: number | undefined;
  readonly killed: boolean;
  /** Not before: the next start, removal or freeze. Infinity: not until something else is wanted. */
  readonly retryAtMs: number | undefined;
  /** The disk that its files were last settled for. */
  readonly settledDisk: number | undefined;
}

/** How units of a kind are treated. */
export interface Policy {
  /** It is started again when it ends. Otherwise one end is for good. */
  readonly restarts: boolean;
  /** How long it may take to end after it was asked to, in milliseconds. */
  readonly graceMs: number;
  /** How long it may take from its start until it asks for work, in milliseconds. Undefined: it asks for nothing. */
  readonly initTimeoutMs: number | undefined;
}

/**
 * Why it ends. unwanted: as its desired state says. replaced: another run or disk is wanted. condemned: as the agent
 * decided. late: it did not ask for work in time. grace: it did not end in time.
 */
export type EndCause = 'unwanted' | 'replaced' | 'condemned' | 'late' | 'grace';

/** What to do. `abandon`: end a preparation. `settle`: bring its files in order, for this disk if one is named. */
export type Action =
  | { readonly do: 'adopt' | 'prepare' | 'freeze' | 'thaw' }
  | { readonly do: 'abandon' | 'stop' | 'kill'; readonly why: EndCause }
  | { readonly do: 'settle'; readonly disk: number | undefined }
  | { readonly do: 'remove' };

/** Where each phase may lead. Whatever is not here is a step back. */
const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  unknown: ['adopting'],
  adopting: ['absent', 'running'],
  absent: ['preparing', 'settling', 'removing'],
  preparing: ['running', 'absent', 'exited'],
  running: ['freezing', 'absent', 'exited'],
  freezing: ['frozen', 'running', 'absent', 'exited'],
  frozen: ['running', 'absent', 'exited'],
  exited: ['preparing', 'settling', 'removing'],
  settling: ['settled'],
  settled: ['preparing', 'settling', 'removing'],
  removing: ['absent', 'exited', 'gone'],
  gone: [],
};

/** The phase that follows. Throws when it cannot follow, naming both. */
export function advance(from: Phase, to: Phase): Phase {
  if (!NEXT[from].includes(to)) throw new Error(`a unit that is ${from} cannot become ${to}`);
  return to;
}

/** Something of it runs. */
export function isLive(phase: Phase): boolean {
  return phase === 'running' || phase === 'freezing' || phase === 'frozen';
}

/** What to do now; nothing when it only has to be waited for. */
export function step(desired: Desired, observed: Observed, policy: Policy, nowMs: number): Action[] {
  switch (observed.phase) {
    case 'unknown':
      return [{ do: 'adopt' }];
    case 'preparing':
      return stepPreparing(desired, observed, policy, nowMs);
    case 'running':
    case 'freezing':
    case 'frozen':
      return stepLive(desired, observed, policy, nowMs);
    case 'absent':
    case 'exited':
    case 'settled':
      return stepStill(desired, observed, policy, nowMs);
    // What is under way ends by itself.
    case 'adopting':
    case 'settling':
    case 'removing':
    case 'gone':
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
  if (end?.how === 'kill') return [{ do: 'kill', why: end.why }];
  if (stopAskedAtMs !== undefined) return nowMs - stopAskedAtMs > graceMs ? [{ do: 'kill', why: 'grace' }] : [];
  if (end) return [{ do: 'stop', why: end.why }];
  if (phase === 'running' && desired.want === 'freeze') return mayFreeze(observed, nowMs) ? [{ do: 'freeze' }] : [];
  return phase === 'frozen' && desired.want !== 'freeze' ? [{ do: 'thaw' }] : [];
}

function mayFreeze({ asked, busy, retryAtMs = 0 }: Observed, nowMs: number): boolean {
  return asked && !busy && nowMs >= retryAtMs;
}

function stepStill(desired: Desired, observed: Observed, policy: Policy, nowMs: number): Action[] {
  const { phase, condemned, retryAtMs = 0, settledDisk } = observed;
  const { want, disk } = desired;
  if (!policy.restarts && (phase === 'exited' || want !== 'run' || condemned))
    return nowMs >= retryAtMs ? [{ do: 'remove' }] : [];
  if (want === 'stand') return phase === 'settled' && settledDisk === disk ? [] : [{ do: 'settle', disk }];
  if (want === 'halt') return phase === 'settled' ? [] : [{ do: 'settle', disk: undefined }];
  if (nowMs < retryAtMs) return [];
  return want === 'gone' ? [{ do: 'remove' }] : [{ do: 'prepare' }];
}

/** How what is prepared or runs should end, and why. Undefined: it should not. */
function endOf(
  desired: Desired,
  observed: Observed,
  policy: Policy,
  nowMs: number,
): { how: 'stop' | 'kill'; why: EndCause } | undefined {
  const { want } = desired;
  const { phase, condemned, busy, made, asked, sinceMs } = observed;
  if (condemned) return { how: condemned, why: 'condemned' };
  // Nobody waits for what it holds.
  if (want === 'gone') return { how: busy ? 'kill' : 'stop', why: 'unwanted' };
  if (want === 'stand' || want === 'halt' || (want === 'drain' && !busy)) return { how: 'stop', why: 'unwanted' };
  if (made && (made.run !== desired.run || made.disk !== desired.disk)) return { how: 'stop', why: 'replaced' };
  const isLate =
    phase === 'running' && !asked && policy.initTimeoutMs !== undefined && nowMs - sinceMs > policy.initTimeoutMs;
  return isLate ? { how: 'kill', why: 'late' } : undefined;
}
