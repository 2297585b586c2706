/**
 * How a release reaches the workers. The first worker of a version starts beside those that serve; once it is available the others are replaced, one more
 * than workersMax at the most, and none goes before another is available in its place. A version whose workers do not start is held: the good version
 * goes on as if nothing had been released. Pure: what was kept of the rollout and what is seen of the workers in, what to scale and the next state out.
 */
import type { Rollout, RolloutSettings, RolloutState } from './rollout-settings.ts';
import { runningWorkers } from './scaler.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';

/** Starts of a version in a row that may fail before it is held. */
export const FAILED_STARTS_MAX = 3;
/** A worker that is ready and has served nothing for so many seconds, although there is something to do, counts as available. */
export const AVAILABLE_AFTER_SECONDS = 5;
/** A version that was held is waited for no longer than so many days; then the good one ends. A rollback that somebody asked for has no end. */
export const HELD_DAYS_MAX = 7;

const HELD_MS_MAX = HELD_DAYS_MAX * 86_400_000;

/** Workers that shall run, by what a rollout makes of them. */
export interface RolloutWorkers {
  /** Scaled: more may be added, and idle ones go. */
  serving: WorkerSample[];
  /** Ready, and to be replaced by serving ones. */
  earlier: WorkerSample[];
  /** Of the released version, beside those that serve. */
  beside: WorkerSample[];
  /** Go now: nobody would miss them. */
  stale: WorkerSample[];
}

/** What becomes of a rollout. */
export interface RolloutStep {
  /** Absent: as before. */
  state?: RolloutState;
  /** The worker whose reason says why the version is held. */
  failedId?: string;
  roomMade?: true;
  checked?: true;
}

/**
 * Settings by which an endpoint is scaled: those of its released version or, while that is checked or held, those of the good one. `wanted`: target of the
 * last decision.
 */
export function scaledSettings<Settings extends ScaleSettings>(
  released: Settings, good: Settings | undefined, rollout: Rollout | undefined, workers: readonly WorkerSample[], wanted: number | undefined,
): Settings & { rollout?: RolloutSettings } {
  if (!rollout) return released;
  const { state, roomMade, checked } = currentRollout(rollout, released.version);
  if (state === 'COMPLETE') return released;
  const facts = {
    state, released: released.version, ...(good && { good: good.version }), ...(roomMade && { roomMade: true as const }),
    ...(checked && { checked: true as const }), ...(wanted !== undefined && { wanted }),
  };
  const isOver = state === 'HELD' && rollout.ageMs > HELD_MS_MAX;
  if (state === 'REPLACING' || isOver) return { ...released, rollout: { phase: 'AT_ONCE', ...facts } };
  if (state === 'HELD' || state === 'ROLLED_BACK') return { ...good ?? released, rollout: { phase: 'REPLACE', ...facts } };
  if (state === 'CHECKING' && good && workers.some((worker) => servesBefore(worker, released, good))) {
    return { ...good, rollout: { phase: 'BESIDE', ...facts } };
  }
  return { ...released, rollout: { phase: 'REPLACE', ...facts } };
}

/** A rollout as it stands: what is kept of another version says nothing of this one but which version is good. */
export function currentRollout(rollout: Rollout, version: number): Rollout {
  if (rollout.version === version) return rollout;
  return { version, state: 'CHECKING', goodVersion: rollout.goodVersion, roomMade: false, checked: false, reason: '', ageMs: 0 };
}

/** A worker of before the release that can serve, at once or after it is woken. */
function servesBefore(worker: WorkerSample, released: ScaleSettings, good: ScaleSettings): boolean {
  if (worker.version === released.version) return false;
  if (worker.desired === 'RUN') return worker.state === 'READY';
  return worker.desired === 'FREEZE' && worker.state !== 'UNHEALTHY' && worker.version === good.version && good.flashBoot && good.workersMax > 0;
}

/** Sorts the workers that shall run. */
export function rolloutWorkers(sample: ScaleSample, { version, rollout }: ScaleSettings): RolloutWorkers {
  const all = runningWorkers(sample);
  const [own, others] = [all.filter((worker) => worker.version === version), all.filter((worker) => worker.version !== version)];
  if (!rollout || rollout.phase === 'AT_ONCE') return { serving: own, earlier: [], beside: [], stale: others };
  const beside = rollout.phase === 'BESIDE' ? others.filter((worker) => worker.version === rollout.released) : [];
  const rest = others.filter((worker) => !beside.includes(worker));
  const [ready, stale] = [rest.filter(({ state }) => state === 'READY'), rest.filter(({ state }) => state !== 'READY')];
  return rollout.phase === 'BESIDE' ? { serving: [...own, ...ready], earlier: [], beside, stale } : { serving: own, earlier: ready, beside, stale };
}

/**
 * The sample as a scaler is to see it: all that serve as workers of one version. One that starts beside them is left out; it is no reason to want more.
 */
export function scalerView(sample: ScaleSample, settings: ScaleSettings): ScaleSample {
  const { version, rollout } = settings;
  if (!rollout || rollout.phase === 'AT_ONCE') return sample;
  const { serving, earlier } = rolloutWorkers(sample, settings);
  const extra = earlier.length === 0 ? 0 : serving.length + earlier.length - Math.max(rollout.wanted ?? earlier.length, 1);
  const rank = (worker: WorkerSample): number => (worker.state !== 'READY' ? 0 : worker.held === 0 ? 1 : 2);
  const left = new Set([...serving].sort((a, b) => rank(a) - rank(b) || b.idleMs - a.idleMs).slice(0, Math.max(extra, 0)));
  const seen = new Set([...serving, ...earlier].filter((worker) => !left.has(worker)));
  const workers = sample.workers.filter((worker) => worker.desired !== 'RUN' || seen.has(worker));
  return { ...sample, workers: workers.map((worker) => (worker.desired === 'RUN' && worker.version !== version ? { ...worker, version } : worker)) };
}

/** A worker may take the place of another: it is ready, and has served unless there is nothing to do or it had no part in that for a while. */
export function isAvailable({ state, served, readyMs = Infinity }: WorkerSample, { queued, running }: ScaleSample): boolean {
  return state === 'READY' && (served === true || queued + running === 0 || readyMs >= AVAILABLE_AFTER_SECONDS * 1_000);
}

/** Workers of other versions than the one that is scaled that were told to go and have not: they still have what they had. */
export function leavingWorkers(sample: ScaleSample, { version }: ScaleSettings): WorkerSample[] {
  return sample.workers.filter((worker) => worker.desired === 'DRAIN' && worker.state !== 'UNHEALTHY' && worker.version !== version);
}

/** In which order workers are replaced: those that hold least, of these the ones that have been idle longest. */
export function replacementOrder(workers: readonly WorkerSample[]): WorkerSample[] {
  return [...workers].sort((a, b) => a.held - b.held || b.idleMs - a.idleMs || a.version - b.version);
}

/** The version that a rollback comes to, or why there is none. `kept`: good versions that are kept; `asked`: undefined for the last one. */
export function versionToReturnTo(version: number, rollout: Rollout | undefined, kept: readonly number[], asked: number | undefined): number | string {
  const { state, goodVersion } = rollout ? currentRollout(rollout, version) : { state: 'COMPLETE' as const, goodVersion: version };
  const isComplete = state === 'COMPLETE' || goodVersion === null || goodVersion === version;
  const serving = state === 'ROLLED_BACK' && goodVersion !== null ? goodVersion : version;
  const others = kept.filter((one) => one !== version).sort((a, b) => b - a);
  const known = others.length === 0 ? 'no other version is kept' : `these are kept: ${others.join(', ')}`;
  if (asked !== undefined) {
    if (state === 'ROLLED_BACK' && asked === serving) return `version is ${asked}, but that serves already`;
    return others.includes(asked) ? asked : `version is ${asked}, but must be a good version before the present one, ${version}; ${known}`;
  }
  if (state === 'ROLLED_BACK') return `it was rolled back to version ${serving} already; name another version to return to: ${known}`;
  if (!isComplete && others.includes(goodVersion)) return goodVersion;
  return others.find((one) => one < version) ?? `there is no good version to return to; ${known}`;
}

/** What the workers of the released version say about it. Undefined: nothing new. */
export function rolloutStep(sample: ScaleSample, settings: ScaleSettings): RolloutStep | undefined {
  const { rollout } = settings;
  if (!rollout || rollout.state === 'ROLLED_BACK' || (rollout.state === 'HELD' && rollout.phase !== 'AT_ONCE')) return undefined;
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
