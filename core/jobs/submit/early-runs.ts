/**
 * Early runs: short synchronous jobs that a worker gets before they are stored. Their submissions are not acknowledged
 * yet, so a crash of core breaks no promise. The row of a job is written once, together with its outcome. If the run
 * takes longer than `LATE_MS`, the row is written without it. Early runs are in memory of this replica only.
 */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { MachineAttempt } from '../../domain/jobs/job.ts';
import type { NewJob } from '../../store/jobs/inserted-rows.ts';
import type { EarlyRun, LiveJobs } from '../live-jobs.ts';
import type { Slot } from '../slots.ts';

/** The latest execution times of endpoints. */
export interface ExecutionTimesReader {
  /** Returns whether the latest executions of an endpoint took at most `msMax` ms each. Leaves out some outliers. */
  areWithin(endpointId: string, msMax: number): boolean;
}

interface EarlyRunsOptions {
  live: LiveJobs;
  times: ExecutionTimesReader;
  /** Time in milliseconds after which a run is stored without its outcome. Default `LATE_MS`. */
  lateMs?: number | undefined;
  clock: Clock;
}

/** Longest usual execution of an endpoint whose jobs may run early, in milliseconds. */
const SHORT_MS_MAX = 50;
/**
 * Time in milliseconds after which a run is late: it is stored without its outcome. On a busy machine a job of 1 ms
 * waits about 50 ms for a processor. With a limit of 20 ms most runs were late, and a late run costs more than an
 * ordinary job.
 */
const LATE_MS = 250;
/** Runs of an endpoint that are judged together. If more than `LATE_SHARE` were late, none begins for `PAUSE_MS`. */
const JUDGED = 32;
const LATE_SHARE = 0.15;
const PAUSE_MS = 2_000;
/** Endpoints that are remembered. */
const ENDPOINTS_MAX = 10_000;

interface Record {
  begun: number;
  late: number;
  pausedUntilMs: number;
}

export class EarlyRuns {
  readonly #options: EarlyRunsOptions;
  readonly #lateMs: number;
  readonly #runs = new Set<EarlyRun>();
  #isTimed = false;
  readonly #records = boundedCache<string, Record>(ENDPOINTS_MAX);
  #store: (run: EarlyRun) => void = () => undefined;

  constructor(options: EarlyRunsOptions) {
    this.#options = options;
    this.#lateMs = options.lateMs ?? LATE_MS;
  }

  /** Sets what stores a run without its outcome. It must settle `answer` and call `settled`. */
  onStore(store: (run: EarlyRun) => void): void {
    this.#store = store;
  }

  /** Returns whether a job of this endpoint may run before it is stored. */
  mayBegin(endpointId: string): boolean {
    const { times, clock } = this.#options;
    const pausedUntilMs = this.#records.get(endpointId)?.pausedUntilMs ?? 0;
    return times.areWithin(endpointId, SHORT_MS_MAX) && pausedUntilMs <= clock.monotonicMs();
  }

  /** Begins a run on a reserved slot. */
  begin(job: NewJob, slot: Slot): EarlyRun {
    const run: EarlyRun = {
      job,
      slot,
      sinceMs: this.#options.clock.monotonicMs(),
      step: 'running',
      answer: Promise.withResolvers(),
      known: Promise.withResolvers(),
    };
    this.#options.live.open(job.endpointId, job.id).run = run;
    this.#runs.add(run);
    this.#judged(job.endpointId).begun += 1;
    this.#time(this.#lateMs);
    return run;
  }

  /** Returns the run of a job. A repeated submission of the job must wait for this run. */
  find({ endpointId, id }: NewJob): EarlyRun | undefined {
    return this.#runs.size === 0 ? undefined : this.#options.live.find(endpointId, id)?.run;
  }

  /** Returns the run whose attempt this is. */
  of({ endpointId, jobId, attempt, machineId }: MachineAttempt): EarlyRun | undefined {
    if (this.#runs.size === 0 || attempt !== 1) return undefined;
    const run = this.#options.live.find(endpointId, jobId)?.run;
    return run?.slot.machineId === machineId ? run : undefined;
  }

  /** Stores the run now, unless its row is being written. Resolves once it is known whether the row exists. */
  store(run: EarlyRun): Promise<void> {
    if (run.step === 'running') {
      run.step = 'storing';
      this.#store(run);
    }
    return run.known.promise;
  }

  /** Forgets a run once its row is written, or never will be. */
  settled(run: EarlyRun): void {
    const { live } = this.#options;
    const job = this.#runs.delete(run) ? live.find(run.job.endpointId, run.job.id) : undefined;
    if (job?.run === run) {
      job.run = undefined;
      live.close(job);
    }
    run.known.resolve();
  }

  #time(ms: number): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#options.clock.after(ms, () => {
      this.#isTimed = false;
      this.#storeLate();
    });
  }

  #storeLate(): void {
    const nowMs = this.#options.clock.monotonicMs();
    let nextMs = Infinity;
    for (const run of this.#runs) {
      if (run.step !== 'running') continue;
      const leftMs = run.sinceMs + this.#lateMs - nowMs;
      if (leftMs > 0) {
        nextMs = Math.min(nextMs, leftMs);
        continue;
      }
      this.#judged(run.job.endpointId).late += 1;
      void this.store(run);
    }
    if (nextMs < Infinity) this.#time(nextMs);
  }

  /** Returns the endpoint's record. Judges and resets it once it has enough runs. */
  #judged(endpointId: string): Record {
    let record = this.#records.get(endpointId);
    if (!record) this.#records.set(endpointId, (record = { begun: 0, late: 0, pausedUntilMs: 0 }));
    if (record.begun < JUDGED) return record;
    if (record.late > record.begun * LATE_SHARE) record.pausedUntilMs = this.#options.clock.monotonicMs() + PAUSE_MS;
    record.begun = 0;
    record.late = 0;
    return record;
  }
}
