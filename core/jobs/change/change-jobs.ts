/**
 * Cancels or retries all jobs that a filter matches. The rules are those of a single job; work is done in statements
 * of a few hundred jobs, and a call is bounded.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { checkGroupId } from '../../domain/jobs/error-groups.ts';
import type { Job, JobKey } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import { statesBefore } from '../../domain/jobs/job-state.ts';
import { checkTime, invalid } from '../../domain/settings/fields.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { JobWalk, Match, WalkedJobs } from '../../store/jobs/job-walk.ts';
import { advanceWalk } from '../../store/jobs/job-walk.ts';
import type { Stores } from '../../store/storage.ts';
import { ERROR_BYTES_MAX } from '../read/job-errors.ts';
import { checkTimes } from '../read/list-jobs.ts';
import type { QueueCursors } from '../submit/queue-cursors.ts';
import type { QueueGate } from '../submit/queue-gate.ts';
import { chooseEnded } from './choose-ended.ts';

interface ChangeJobsOptions {
  stores: Pick<Stores, 'jobs'>;
  events: CoreEvents;
  cursors: QueueCursors;
  gate: QueueGate;
  clock: Clock;
  onFinal(job: Job): void;
}

/** The jobs to change, or the cursor of a previous call. */
export type ChangeRequest = (WalkedJobs | JobWalk) & {
  /** Jobs to examine, 1 to 1,000; 0 means the maximum. */
  limit: number;
};

/** The result of one call. */
export interface ChangeResult {
  done: number;
  /**
   * Jobs that matched and were not changed, counted by their present state; `undefined` counts jobs that no longer
   * exist.
   */
  left: Map<JobState | undefined, number>;
  /** The cursor for the next call; `undefined` if no matching job is left. */
  next: JobWalk | undefined;
}

/** Jobs that one call examines. Takes a few hundred milliseconds. */
export const CHANGED_MAX = 1_000;
/** Jobs of one statement. */
const BATCH_ITEMS_MAX = 250;

export class ChangeJobs {
  readonly #options: ChangeJobsOptions;

  constructor(options: ChangeJobsOptions) {
    this.#options = options;
  }

  /**
   * Changes the next batch of jobs. Throws INVALID_REQUEST for a state that the move cannot leave, a limit or time
   * out of range, or an unknown error group.
   */
  async change({ limit, ...wanted }: ChangeRequest): Promise<ChangeResult> {
    if (!Number.isInteger(limit) || limit < 0 || limit > CHANGED_MAX)
      throw invalid(`limit must be from 1 to ${CHANGED_MAX}`);
    const { jobs } = this.#options.stores;
    const changed: ChangeResult = {
      done: 0,
      left: new Map(),
      next: 'range' in wanted ? wanted : await jobs.beginWalk(checked(wanted)),
    };
    let bytesLeft = ERROR_BYTES_MAX;
    for (let remaining = limit || CHANGED_MAX; remaining > 0 && bytesLeft > 0 && changed.next; ) {
      const walk: JobWalk = changed.next;
      const asked = Math.min(remaining, BATCH_ITEMS_MAX);
      const found = await jobs.nextMatches(walk, asked);
      const { examined, matches, bytes } = await chooseEnded(this.#options, walk, found);
      const moved = matches.length === 0 ? [] : await this.#move(walk, matches);
      if (moved.length < matches.length) await this.#count(changed.left, walk.endpointId, matches, moved);
      changed.done += moved.length;
      changed.next = advanceWalk(
        walk,
        examined,
        examined.length < found.length ? examined.length : asked,
        moved.length,
      );
      remaining -= examined.length;
      bytesLeft -= bytes;
    }
    return changed;
  }

  #move(walk: JobWalk, matches: readonly Match[]): Promise<Job[]> {
    return walk.move === 'cancel' ? this.#cancel(walk, matches) : this.#retry(walk, matches);
  }

  async #cancel(walk: JobWalk, matches: readonly Match[]): Promise<Job[]> {
    const { stores, events, gate, onFinal } = this.#options;
    const { endpointId } = walk;
    const cancelled = await stores.jobs.cancelMatching(walk, matches);
    // The queue may be far shorter now: recount before any submission is rejected.
    gate.forget(endpointId);
    for (const { job } of cancelled) onFinal(job);
    events.emit(
      'settled',
      cancelled.map(({ job }) => ({ endpointId, jobId: job.id })),
    );
    events.emit(
      'stop',
      cancelled.flatMap(({ job, machineId }) =>
        machineId === undefined
          ? []
          : [{ endpointId, jobId: job.id, attempt: job.attempt, machineId, reason: 'cancelled' }],
      ),
    );
    return cancelled.map(({ job }) => job);
  }

  async #retry(walk: JobWalk, matches: readonly Match[]): Promise<Job[]> {
    const { stores, events, cursors, gate } = this.#options;
    const { endpointId } = walk;
    const queued = await stores.jobs.retryMatching(walk, matches);
    if (queued.length > 0) {
      cursors.queued(endpointId, Math.min(...queued.map(({ position }) => position)), queued.length);
      gate.changed(endpointId, queued.length);
      events.emit('queued', [endpointId]);
    }
    return queued.map(({ job }) => job);
  }

  /** Counts the jobs that matched and were not moved, by the state they have now. */
  async #count(
    left: ChangeResult['left'],
    endpointId: string,
    matches: readonly Match[],
    moved: readonly Job[],
  ): Promise<void> {
    const ids = new Set(moved.map(({ id }) => id));
    const keys: JobKey[] = matches.filter(({ jobId }) => !ids.has(jobId)).map(({ jobId }) => ({ endpointId, jobId }));
    const found = await this.#options.stores.jobs.read(
      keys,
      keys.map(() => 0),
    );
    const count = (state: JobState | undefined, more: number): void => {
      if (more > 0) left.set(state, (left.get(state) ?? 0) + more);
    };
    for (const { job } of found) count(job.state, 1);
    count(undefined, keys.length - found.length);
  }
}

/** Validates a request. Without states it selects every state that the move may leave. */
function checked(wanted: WalkedJobs): WalkedJobs {
  const { move, states, submitted, ended } = wanted;
  const known = statesBefore(move);
  const other = states.find((state) => !known.includes(state));
  const word = move === 'cancel' ? 'cancelled' : 'retried';
  if (other !== undefined)
    throw invalid(`Jobs that are ${other} cannot be ${word}, only jobs that are ${known.join(' or ')}.`);
  if (submitted) checkTimes(submitted);
  checkTime('ended_from', ended?.fromMs);
  checkGroupId(ended?.errorGroup ?? '', 'error_group');
  return { ...wanted, states: states.length === 0 ? known : states };
}
