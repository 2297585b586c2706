/** Waits until a new Pod runs, and decides which waits may pass and which never will. */
import type { Clock } from '@slipway/kit/time/clock';
import { parseImageName } from '../../images/image-name.ts';
import { pullFailure } from '../../images/pull-failure.ts';
import type { ImageRequest } from '../executor.ts';
import { PrepareError } from '../executor.ts';
import type { PodPhase } from './pod-state.ts';
import { detail, exitOfGone, phaseOf, waitText } from './pod-state.ts';
import type { TrackedPod } from './tracked-pod.ts';

/**
 * Longest waits in milliseconds: for the scheduler, which says that nothing is free, for an image whose pull fails in a
 * way that may pass, and for a container that cannot be created. A gate is opened by a queue of the operator, and has
 * no limit.
 */
const LIMITS_MS = { scheduler: 120_000, image: 120_000, container: 60_000, gate: Infinity };

/** Interval at which the limits are checked while nothing changes, in milliseconds. */
const RECHECK_MS = 1_000;

/**
 * Resolves when the Pod runs, or has run. Rejects with why it never will, or with the signal's reason. `progress`: a
 * line for people whenever there is news.
 */
export async function untilRunning(
  tracked: TrackedPod,
  image: ImageRequest,
  { progress, signal, clock }: { progress(text: string): void; signal: AbortSignal; clock: Clock },
): Promise<void> {
  const limit = new WaitLimit(clock);
  let pullMessage = '';
  await tracked.until(
    () => {
      const phase = phaseOf(tracked.latest);
      if (phase.is === 'running') return true;
      if (phase.is === 'over') return hasStarted(phase) || fail(phase.exit.failure ?? `it ${phase.exit.cause}`);
      if (tracked.isGone) fail(goneText(tracked));
      const fault = phase.for === 'image' ? withMessage(phase, pullMessage) : phase;
      if (fault.for === 'image') pullMessage = fault.message;
      const isLate = limit.isOver(fault);
      if (fault.for === 'image') failPull(fault, image, isLate);
      else if (isLate) fail(waitText(fault, image.name));
      progress(waitText(fault, image.name));
      return undefined;
    },
    signal,
    RECHECK_MS,
  );
}

function goneText(tracked: TrackedPod): string {
  return `its Pod was deleted before it ran: it ${exitOfGone(tracked.latest, undefined).cause}`;
}

/** Returns true if the container ran, even if it ended at once: it is followed, and its exit says how it ended. */
function hasStarted({ exit }: PodPhase & { is: 'over' }): true | undefined {
  return exit.failure === undefined && (exit.code !== undefined || exit.signal !== undefined) ? true : undefined;
}

function fail(text: string): never {
  throw new Error(text);
}

/** Returns the phase with the last try's message: in a pause between two pulls, Kubernetes may give no cause. */
function withMessage(phase: PodPhase & { is: 'waiting' }, last: string): PodPhase & { is: 'waiting' } {
  const isPause = phase.reason === 'ImagePullBackOff' && !/ErrImagePull|failed|error/i.test(phase.message);
  return isPause && last !== '' ? { ...phase, message: last } : phase;
}

/** Throws if a pull cannot succeed, or has failed for too long. */
function failPull(
  { reason, message }: PodPhase & { is: 'waiting' },
  { name, credentials }: ImageRequest,
  late: boolean,
) {
  if (reason === 'InvalidImageName')
    throw new PrepareError('REFUSED', `Kubernetes cannot read the name ${name}: write it like registry/path:tag`);
  const registry = parseImageName(name)?.registry ?? '';
  const { error, mayPass } = pullFailure({ name, registry, words: message || reason, credentials });
  if (late || !mayPass) throw error;
}

/** Measures how long a Pod has waited for one thing that is wrong. */
class WaitLimit {
  readonly #clock: Clock;
  #for = '';
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns whether the wait has reached its limit. */
  isOver(phase: PodPhase & { is: 'waiting' }): boolean {
    const nowMs = this.#clock.monotonicMs();
    const cause = phase.reason === '' ? '' : phase.for;
    if (cause !== this.#for) {
      this.#for = cause;
      this.#sinceMs = nowMs;
    }
    return cause !== '' && nowMs - this.#sinceMs >= LIMITS_MS[phase.for];
  }
}

/** Returns the error of a Pod that the API did not accept. */
export function rejectedPod(status: number, reason: string, message: string): Error {
  const text = `Kubernetes did not accept its Pod${detail(reason, message)}`;
  return status === 400 || status === 422 ? new PrepareError('REFUSED', text) : new Error(text);
}
