/** Writes the row of an early run together with its outcome: one commit in place of two. */
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { byJob } from '../../domain/jobs/job.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { EndedJob } from '../../store/jobs/ended-rows.ts';
import type { OutcomeEntry, RecordedOutcome } from '../../store/jobs/outcome-store.ts';
import { DatabaseAwayError, isTransient, persist } from '../../store/sql/transient.ts';
import type { Stores } from '../../store/storage.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { EarlyRun } from '../live-jobs.ts';
import type { EarlyRuns } from '../submit/early-runs.ts';
import type { OutageTracker } from '../submit/outage-tracker.ts';

interface EndEarlyRunsOptions {
  stores: Pick<Stores, 'submissions'>;
  early: EarlyRuns;
  outage: OutageTracker;
  /** Announces what was written. */
  announce(entries: readonly OutcomeEntry[], written: readonly RecordedOutcome[]): void;
  tasks: TaskGroup;
  meter?: EngineMeter | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface Ending {
  run: EarlyRun;
  entry: OutcomeEntry;
}

type EndResult = 'recorded' | 'stale';

const BATCH_ITEMS_MAX = 500;
/** A batch is copied twice in one tick of the event loop, some 2 ms for 4 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const WAITING_MAX = 50_000;

export class EndEarlyRuns {
  readonly #options: EndEarlyRunsOptions;
  readonly #batcher: Batcher<Ending, EndResult>;

  constructor(options: EndEarlyRunsOptions) {
    this.#options = options;
    this.#batcher = new Batcher({
      name: 'ends of early runs',
      meter: options.meter?.batches,
      clock: options.clock,
      flush: (endings) => this.#flush(endings),
      itemsMax: BATCH_ITEMS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: ({ run, entry }) => run.job.input.length + (entry.output?.length ?? 0),
      waitingMax: WAITING_MAX,
    });
  }

  /**
   * Records the outcome of an early run. Returns `undefined` if the attempt is not an early run. COMPLETED is written
   * together with the row. Other outcomes wait for the row, as does an outcome that arrives while the row is written.
   */
  end(entry: OutcomeEntry, record: () => Promise<EndResult>): Promise<EndResult> | undefined {
    const { early } = this.#options;
    const run = early.of(entry);
    if (!run) return undefined;
    if (run.step !== 'running' || entry.rule.final !== 'COMPLETED') return early.store(run).then(record);
    // If the outcome is rejected, the run stays: the agent sends the outcome again.
    if (this.#batcher.waiting < WAITING_MAX) run.step = 'ending';
    return this.#batcher.add({ run, entry });
  }

  async #flush(endings: readonly Ending[]): Promise<(EndResult | Error)[]> {
    const results = new Map<Ending, EndResult | Error>();
    await this.#write(
      endings.toSorted((a, b) => byJob(a.entry, b.entry)),
      results,
    );
    return endings.map((ending) => results.get(ending)!);
  }

  /** Writes all at once. If the database rejects that, writes them one by one: one bad row must not fail the others. */
  async #write(endings: readonly Ending[], results: Map<Ending, EndResult | Error>): Promise<void> {
    const { early, logger } = this.#options;
    try {
      const stale = await this.#insert(endings);
      for (const ending of endings) results.set(ending, stale.has(ending) ? 'stale' : 'recorded');
    } catch (error) {
      if (!isTransient(error) && endings.length > 1) {
        const attempts = someAttempts(endings.map(({ entry }) => entry));
        logger.warn({ err: error, ...attempts }, 'database rejected a batch of early runs, storing them one by one');
        for (const ending of endings) await this.#write([ending], results);
        return;
      }
      for (const { run } of endings) run.answer.reject(error);
      for (const ending of endings) results.set(ending, error as Error);
    }
    for (const { run } of endings) early.settled(run);
  }

  /**
   * Inserts the rows. Returns the endings that inserted none. Retries while the database is away or full: another run
   * of the job must not begin before it is known whether this run has its row. In a long outage the submission fails
   * meanwhile, without an acknowledgement.
   */
  async #insert(endings: readonly Ending[]): Promise<Set<Ending>> {
    const { stores, outage, announce, meter } = this.#options;
    const entries = endings.map(({ entry }) => entry);
    const ended = endings.map((ending) => this.#endedJob(ending));
    const onFailure = (error: unknown): void => {
      if (!isTransient(error) || !outage.isTooLong(error)) return;
      for (const { run } of endings) run.answer.reject(new DatabaseAwayError(error));
    };
    const persisting = { ...this.#options, forMs: Infinity, signal: this.#options.tasks.signal, onFailure };
    const written = await persist(() => stores.submissions.insertEnded(ended), persisting);
    const stale = new Set(endings);
    for (const { index } of written) stale.delete(endings[index]!);
    // Their rows exist: written by another replica, or by an earlier try here whose answer was lost.
    if (stale.size > 0) await this.#answerStored([...stale], persisting);
    meter?.recorded(entries.length, written);
    announce(entries, written);
    for (const { index, job } of written)
      endings[index]!.run.answer.resolve({ ...job, output: entries[index]!.output });
    return stale;
  }

  #endedJob({ run, entry }: Ending): EndedJob {
    const { job, slot, sinceMs } = run;
    const ageMs = this.#options.clock.monotonicMs() - sinceMs;
    const { executionMs, output } = entry;
    return { job, workerId: slot.workerId, machineId: slot.machineId, ageMs, executionMs, output };
  }

  async #answerStored(endings: readonly Ending[], persisting: Parameters<typeof persist>[1]): Promise<void> {
    const { submissions } = this.#options.stores;
    const found = await persist(() => submissions.read(endings.map(({ run }) => run.job)), persisting);
    for (const { run } of endings) {
      const { endpointId, id } = run.job;
      const job = found.find((stored) => stored.job.id === id && stored.job.endpointId === endpointId)?.job;
      if (job) run.answer.resolve(job);
      else
        run.answer.reject(new DomainError('INVALID_REQUEST', 'request_id was used before for a job that has expired'));
    }
  }
}
