/**
 * Rules of a rollout: how a release reaches the workers. The first worker of a version starts beside the serving ones.
 * Once it is available, the others are replaced, with at most one worker above workersMax, and none stops before
 * another is available in its place. A version whose workers do not start is put on hold: the good version serves as if
 * nothing had been released. Pure: the stored rollout and the workers go in; what to scale and the next state come out.
 */
import type { Rollout, RolloutSettings, RolloutState } from './rollout-settings.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import { runningWorkers } from './scaler.ts';

/** Consecutive failed starts after which a version is put on hold. */
export const FAILED_STARTS_MAX = 3;
/** Seconds after which a ready worker counts as available although it has served nothing while there was work. */
const AVAILABLE_AFTER_SECONDS = 5;
/**
 * Days after which a version on hold is no longer waited for; then the good one ends. A requested rollback has no end.
 */
export const HELD_DAYS_MAX = 7;

const HELD_MS_MAX = HELD_DAYS_MAX * 86_400_000;

/** Workers that should run, by their role in a rollout. */
export interface RolloutWorkers {
  /** Workers of the scaled version: more may be added, and idle ones stop. */
  serving: WorkerSample[];
  /** Ready workers that serving ones replace. */
  earlier: WorkerSample[];
  /** Workers of the released version, beside the serving ones. */
  beside: WorkerSample[];
  /** Workers to stop now: nothing depends on them. */
  stale: WorkerSample[];
}

/** Next step of a rollout. */
export interface RolloutStep {
  /** Absent if unchanged. */
  state?: RolloutState;
  /** The worker whose reason explains the hold. */
  failedId?: string;
  roomMade?: true;
  checked?: true;
}

/**
 * Returns the settings to scale by: those of the released version or, while that is checked or on hold, of the good
 * one. `wanted`: target of the previous decision.
 */
export function scaledSettings<Settings extends ScaleSettings>(
  released: Settings,
  good: Settings | undefined,
  rollout: Rollout | undefined,
  workers: readonly WorkerSample[],
  wanted: number | undefined,
): Settings & { rollout?: RolloutSettings } {
  if (!rollout) return released;
  const { state, roomMade, checked } = currentRollout(rollout, released.version);
  if (state === 'COMPLETE') return released;
  const facts = {
    state,
    released: released.version,
    ...(good && { good: good.version }),
    ...(roomMade && { roomMade: true as const }),
    ...(checked && { checked: true as const }),
    ...(wanted !== undefined && { wanted }),
  };
  const isOver = state === 'HELD' && rollout.ageMs > HELD_MS_MAX;
  if (state === 'REPLACING' || isOver) return { ...released, rollout: { phase: 'AT_ONCE', ...facts } };
  if (state === 'HELD' || state === 'ROLLED_BACK')
    return { ...(good ?? released), rollout: { phase: 'REPLACE', ...facts } };
  if (state === 'CHECKING' && good && workers.some((worker) => servesBefore(worker, released, good))) {
    return { ...good, rollout: { phase: 'BESIDE', ...facts } };
  }
  return { ...released, rollout: { phase: 'REPLACE', ...facts } };
}

/** Returns the current rollout. A stored rollout of another version only says which version is good. */
export function currentRollout(rollout: Rollout, version: number): Rollout {
  if (rollout.version === version) return rollout;
  return {
    version,
    state: 'CHECKING',
    goodVersion: rollout.goodVersion,
    roomMade: false,
    checked: false,
    reason: '',
    ageMs: 0,
  };
}

/** Returns whether a worker from before the release can serve, at once or after it resumed. */
function servesBefore(worker: WorkerSample, released: ScaleSettings, good: ScaleSettings): boolean {
  if (worker.version === released.version) return false;
  if (worker.desired === 'RUN') return worker.state === 'READY';
  return (
    worker.desired === 'FREEZE' &&
    !worker.suspended &&
    worker.state !== 'UNHEALTHY' &&
    worker.version === good.version &&
    good.flashBoot &&
    good.workersMax > 0
  );
}

/** Groups the workers that should run. */
export function rolloutWorkers(sample: ScaleSample, { version, rollout }: ScaleSettings): RolloutWorkers {
  const all = runningWorkers(sample);
  const [own, others] = [
    all.filter((worker) => worker.version === version),
    all.filter((worker) => worker.version !== version),
  ];
  if (!rollout || rollout.phase === 'AT_ONCE') return { serving: own, earlier: [], beside: [], stale: others };
  const beside = rollout.phase === 'BESIDE' ? others.filter((worker) => worker.version === rollout.released) : [];
  const rest = others.filter((worker) => !beside.includes(worker));
  const [ready, stale] = [rest.filter(({ state }) => state === 'READY'), rest.filter(({ state }) => state !== 'READY')];
  return rollout.phase === 'BESIDE'
    ? { serving: [...own, ...ready], earlier: [], beside, stale }
    : { serving: own, earlier: ready, beside, stale };
}

/** Returns 0 for a worker that is not ready, 1 for an idle one, 2 for a busy one. */
function loadRank({ state, held }: WorkerSample): number {
  if (state !== 'READY') return 0;
  return held === 0 ? 1 : 2;
}

/**
 * Returns the sample for the scaler: all serving workers as one version. A worker that starts beside them is left out,
 * as it is no reason to want more.
 */
export function scalerView(sample: ScaleSample, settings: ScaleSettings): ScaleSample {
  const { version, rollout } = settings;
  if (!rollout || rollout.phase === 'AT_ONCE') return sample;
  const { serving, earlier } = rolloutWorkers(sample, settings);
  const extra =
    earlier.length === 0 ? 0 : serving.length + earlier.length - Math.max(rollout.wanted ?? earlier.length, 1);
  const left = new Set(
    [...serving].sort((a, b) => loadRank(a) - loadRank(b) || b.idleMs - a.idleMs).slice(0, Math.max(extra, 0)),
  );
  const seen = new Set([...serving, ...earlier].filter((worker) => !left.has(worker)));
  const workers = sample.workers.filter((worker) => worker.desired !== 'RUN' || seen.has(worker));
  return {
    ...sample,
    workers: workers.map((worker) =>
      worker.desired === 'RUN' && worker.version !== version ? { ...worker, version } : worker,
    ),
  };
}

/**
 * Returns whether a worker may replace another: it is ready, and has served, unless there is no work or it got none for
 * a while.
 */
export function isAvailable(
  { state, served, readyMs = Infinity }: WorkerSample,
  { queued, running }: ScaleSample,
): boolean {
  return state === 'READY' && (served === true || queued + running === 0 || readyMs >= AVAILABLE_AFTER_SECONDS * 1_000);
}

/** Returns draining workers of other versions: they still hold their resources. */
export function leavingWorkers(sample: ScaleSample, { version }: ScaleSettings): WorkerSample[] {
  return sample.workers.filter(
    (worker) => worker.desired === 'DRAIN' && worker.state !== 'UNHEALTHY' && worker.version !== version,
  );
}

/** Returns the order of replacement: the least busy first, then the longest idle. */
export function replacementOrder(workers: readonly WorkerSample[]): WorkerSample[] {
  return [...workers].sort((a, b) => a.held - b.held || b.idleMs - a.idleMs || a.version - b.version);
}

/**
 * Returns the version of a rollback, or why there is none. `kept`: stored good versions. `asked`: `undefined` for the
 * last one.
 */
export function versionToReturnTo(
  version: number,
  rollout: Rollout | undefined,
  kept: readonly number[],
  asked: number | undefined,
): number | string {
  const { state, goodVersion } = rollout
    ? currentRollout(rollout, version)
    : { state: 'COMPLETE' as const, goodVersion: version };
  const isComplete = state === 'COMPLETE' || goodVersion === null || goodVersion === version;
  const serving = state === 'ROLLED_BACK' && goodVersion !== null ? goodVersion : version;
  const others = kept.filter((one) => one !== version).sort((a, b) => b - a);
  const known = others.length === 0 ? 'no other version is kept' : `these are kept: ${others.join(', ')}`;
  if (asked !== undefined) {
    if (state === 'ROLLED_BACK' && asked === serving) return `version is ${asked}, but that serves already`;
    return others.includes(asked)
      ? asked
      : `version is ${asked}, but must be a good version before the present one, ${version}; ${known}`;
  }
  if (state === 'ROLLED_BACK')
    return `it was rolled back to version ${serving} already; name another version to return to: ${known}`;
  if (!isComplete && others.includes(goodVersion)) return goodVersion;
  return others.find((one) => one < version) ?? `there is no good version to return to; ${known}`;
}

/** Returns the step that the workers of the released version cause, `undefined` if there is none. */
export function rolloutStep(sample: ScaleSample, settings: ScaleSettings): RolloutStep | undefined {
  const { rollout } = settings;
  if (!rollout || rollout.state === 'ROLLED_BACK' || (rollout.state === 'HELD' && rollout.phase !== 'AT_ONCE'))
    return undefined;
  const { serving, earlier, beside, stale } = rolloutWorkers(sample, settings);
  const released = rollout.phase === 'BESIDE' ? beside : serving;
  if (released.some((worker) => isAvailable(worker, sample))) {
    if (rollout.phase !== 'BESIDE' && earlier.length + stale.length === 0) return { state: 'COMPLETE' };
    return rollout.state === 'CHECKING' ? { state: 'ROLLING' } : undefined;
  }
  if (rollout.good === undefined || rollout.phase === 'AT_ONCE') return undefined;
  const failed = released.find(({ state, failures }) => state === 'UNHEALTHY' && failures >= FAILED_STARTS_MAX);
  return failed && { state: 'HELD', failedId: failed.id };
}
