/** Stores many submissions in one statement and claims those for which a worker is free: one commit instead of two. */

import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Job } from '../../domain/jobs/job.ts';
import { INLINE_INPUT_BYTES_MAX } from '../../domain/jobs/job-limits.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { JobWithSlot, NewJob, StoredJob } from '../../store/jobs/inserted-rows.ts';
import { isTransient, persist } from '../../store/sql/transient.ts';
import type { Stores } from '../../store/storage.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { EarlyRun } from '../live-jobs.ts';
import type { ClaimedJob, Slot, SlotSource } from '../slots.ts';
import type { EarlyRuns } from './early-runs.ts';
import type { OutageTracker } from './outage-tracker.ts';
import type { QueueCursors } from './queue-cursors.ts';
import type { QueueGate } from './queue-gate.ts';
import type { TrafficMeter } from './traffic-meter.ts';

interface SubmitBatchOptions {
  stores: Pick<Stores, 'submissions'>;
  events: CoreEvents;
  slots: SlotSource;
  cursors: QueueCursors;
  gate: QueueGate;
  traffic: TrafficMeter;
  tasks: TaskGroup;
  outage: OutageTracker;
  early: EarlyRuns;
  /** Default: no metrics. */
  meter?: EngineMeter;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** A job to store. */
export interface SubmissionEntry {
  job: NewJob;
  /** Its early run, if it has one. */
  run?: EarlyRun;
}

/** A job with the worker that takes it, or has it already in an early run. */
interface Placed extends JobWithSlot<Slot> {
  run: EarlyRun | undefined;
}

export class SubmitBatch {
  readonly #options: SubmitBatchOptions;

  constructor(options: SubmitBatchOptions) {
    this.#options = options;
  }

  /** Stores jobs and returns each as stored. If an id exists already, returns the job of that id. */
  async store(jobs: readonly SubmissionEntry[]): Promise<(Job | Error)[]> {
    const { random, tracing, outage } = this.#options;
    const trace = tracing?.batch('store jobs', jobs, ({ job }) => job.traceparent);
    const placed = this.#assignSlots(jobs);
    const claimId = random.uuid();
    let stored: Map<string, StoredJob>;
    try {
      stored = await outage.persist(() => this.#insert(placed, claimId));
    } catch (error) {
      this.#abandon(placed, claimId, error);
      trace?.end('not stored');
      throw error;
    }
    trace?.end();
    this.#count(placed.filter(({ run }) => !run).map(({ job }) => job));
    this.#announce(placed, stored, claimId);
    return jobs.map(
      ({ job }) =>
        stored.get(nameOf(job))?.job ??
        new DomainError('INVALID_REQUEST', 'request_id was used before for a job that has expired'),
    );
  }

  /** Gives a job to a worker before it is stored, if one is free. */
  runEarly(job: NewJob): EarlyRun | undefined {
    const { slots, cursors, early } = this.#options;
    if (cursors.maybeQueued(job.endpointId) || !early.mayBegin(job.endpointId)) return undefined;
    const [slot] = slots.reserve(job.endpointId, 1);
    if (!slot) return undefined;
    const run = early.begin(job, slot);
    this.#count([job]);
    slots.assign([claimedJob(job, slot)]);
    return run;
  }

  /** Stops an early run whose row will not be written. Its submission was not acknowledged. */
  drop(run: EarlyRun): void {
    this.#announceRun(run, undefined);
  }

  /** Announces a job that was queued outside a batch. */
  announceQueued(stored: StoredJob, job: NewJob): void {
    this.#count([job]);
    this.#announce([], new Map([[nameOf(stored.job), stored]]), '');
  }

  /** Removes duplicate ids, and reserves free workers for endpoints whose queue is empty. */
  #assignSlots(jobs: readonly SubmissionEntry[]): Placed[] {
    const { slots, cursors } = this.#options;
    const byEndpoint = new Map<string, Map<string, NewJob>>();
    const placed: Placed[] = [];
    for (const { job, run } of jobs) {
      if (run) {
        placed.push({ job, slot: run.slot, run });
        continue;
      }
      let wanted = byEndpoint.get(job.endpointId);
      if (!wanted) byEndpoint.set(job.endpointId, (wanted = new Map()));
      if (!wanted.has(job.id)) wanted.set(job.id, job);
    }
    for (const [endpointId, wanted] of byEndpoint) {
      const free = cursors.maybeQueued(endpointId) ? [] : slots.reserve(endpointId, wanted.size);
      for (const job of wanted.values()) placed.push({ job, slot: free.shift(), run: undefined });
      slots.unreserve(free);
    }
    return placed;
  }

  async #insert(placed: readonly Placed[], claimId: string): Promise<Map<string, StoredJob>> {
    const { submissions } = this.#options.stores;
    const stored = new Map<string, StoredJob>();
    for (const job of await submissions.insert(placed, claimId)) stored.set(nameOf(job.job), job);
    const missing = placed.filter(({ job }) => !stored.has(nameOf(job)));
    // Rare: a repeated id, or own rows after the reply to an earlier try was lost.
    if (missing.length > 0)
      for (const job of await submissions.read(missing.map(({ job }) => job))) stored.set(nameOf(job.job), job);
    return stored;
  }

  #announce(placed: readonly Placed[], stored: ReadonlyMap<string, StoredJob>, claimId: string): void {
    const { slots, tracing } = this.#options;
    const claimed: ClaimedJob[] = [];
    const unused: Slot[] = [];
    for (const { job, slot, run } of placed) {
      if (!slot) continue;
      const found = stored.get(nameOf(job));
      if (run) this.#announceRun(run, found?.claimId === claimId ? slot.workerId : found?.job.workerId);
      else if (found?.claimId === claimId && found.job.workerId === slot.workerId) claimed.push(claimedJob(job, slot));
      else unused.push(slot);
    }
    if (unused.length > 0) slots.unreserve(unused);
    tracing?.keep(claimed);
    if (claimed.length > 0) slots.assign(claimed);
    this.#announceQueued(stored.values());
  }

  /** Settles an early run. Stops it unless its row is that of its own worker, `workerId`. */
  #announceRun(run: EarlyRun, workerId: string | undefined): void {
    const { early, events } = this.#options;
    early.settled(run);
    if (workerId === run.slot.workerId) return;
    const { job, slot } = run;
    const attempt = { endpointId: job.endpointId, jobId: job.id, attempt: 1, machineId: slot.machineId };
    events.emit('stop', [{ ...attempt, reason: 'its job was not stored for this worker' }]);
  }

  #count(jobs: readonly NewJob[]): void {
    const { meter, traffic, events } = this.#options;
    meter?.submitted(jobs);
    const loads = new Map<string, number>();
    for (const { endpointId, lowPriority } of jobs) {
      traffic.arrived(endpointId, lowPriority);
      if (!lowPriority) loads.set(endpointId, (loads.get(endpointId) ?? 0) + 1);
    }
    events.emit(
      'load',
      [...loads].map(([endpointId, count]) => ({ endpointId, jobs: count })),
    );
  }

  #announceQueued(stored: Iterable<StoredJob>): void {
    const { cursors, gate, events } = this.#options;
    const queued = new Map<string, { position: number; count: number }>();
    for (const { job, position } of stored) {
      if (job.state !== 'IN_QUEUE') continue;
      const known = queued.get(job.endpointId);
      queued.set(job.endpointId, {
        position: Math.min(position, known?.position ?? position),
        count: (known?.count ?? 0) + 1,
      });
    }
    for (const [endpointId, { position, count }] of queued) {
      cursors.queued(endpointId, position, count);
      gate.changed(endpointId, count);
    }
    events.emit('queued', [...queued.keys()]);
  }

  /**
   * Resolves claims of an insert whose result is unknown. Slots stay reserved until it is known: a claim without its
   * worker would wait forever.
   */
  #abandon(placed: readonly Placed[], claimId: string, error: unknown): void {
    const { slots, stores, clock, random, tasks, logger } = this.#options;
    const withSlot = placed.filter(({ slot }) => slot !== undefined);
    if (withSlot.length === 0) return;
    if (!isTransient(error)) {
      for (const { run } of withSlot) if (run) this.#announceRun(run, undefined);
      return slots.unreserve(withSlot.filter(({ run }) => !run).map(({ slot }) => slot!));
    }
    const resolve = async (): Promise<void> => {
      const persisting = { clock, random, forMs: Infinity, signal: tasks.signal };
      // An early run continues, so its row must be written.
      const runs = withSlot.filter(({ run }) => run);
      if (runs.length > 0) this.#announce(runs, await persist(() => this.#insert(runs, claimId), persisting), claimId);
      const others = withSlot.filter(({ run }) => !run);
      const read = (): Promise<StoredJob[]> => stores.submissions.read(others.map(({ job }) => job));
      const rows = others.length > 0 ? await persist(read, persisting) : [];
      this.#announce(others, new Map(rows.map((row) => [nameOf(row.job), row])), claimId);
    };
    const claimed = withSlot.map(({ job, slot }) => ({
      endpointId: job.endpointId,
      jobId: job.id,
      attempt: 1,
      workerId: slot!.workerId,
    }));
    tasks.own(resolve(), (failure) =>
      logger.warn({ err: failure, ...someAttempts(claimed) }, 'claims of a failed insert were not resolved'),
    );
  }
}

function nameOf(job: { endpointId: string; id: string }): string {
  return `${job.endpointId}/${job.id}`;
}

function claimedJob(job: NewJob, slot: Slot): ClaimedJob {
  return {
    endpointId: job.endpointId,
    jobId: job.id,
    attempt: 1,
    workerId: slot.workerId,
    machineId: slot.machineId,
    fence: slot.fence,
    input: job.input.length <= INLINE_INPUT_BYTES_MAX ? job.input : undefined,
    inputSize: job.input.length,
    s3ConfigSealed: job.s3ConfigSealed,
    traceparent: job.traceparent,
  };
}
