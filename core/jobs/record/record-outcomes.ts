/**
 * Records how attempts ended. Never gives up: every outcome is recorded while this process lives and the database
 * comes back.
 */

import { Batcher } from '@slipway/kit/bytes/batcher';
import { ByteBudget } from '@slipway/kit/bytes/byte-budget';
import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { RetryRules } from '../../domain/jobs/attempt-outcome.ts';
import { lossText, outcomeRule, rememberedAs } from '../../domain/jobs/attempt-outcome.ts';
import type { Job } from '../../domain/jobs/job.ts';
import { byJob } from '../../domain/jobs/job.ts';
import { ERROR_LENGTH_MAX } from '../../domain/jobs/job-limits.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { OutcomeEntry, RecordedOutcome } from '../../store/jobs/outcome-store.ts';
import { isTransient, persist } from '../../store/sql/transient.ts';
import type { Stores } from '../../store/storage.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { EarlyRuns } from '../submit/early-runs.ts';
import type { EndpointFactsCache } from '../submit/endpoint-facts.ts';
import type { OutageTracker } from '../submit/outage-tracker.ts';
import type { QueueCursors } from '../submit/queue-cursors.ts';
import type { QueueGate } from '../submit/queue-gate.ts';
import type { TrafficMeter } from '../submit/traffic-meter.ts';
import type { AttemptOutcome } from './attempt-report.ts';
import { soundOutcome } from './check-json.ts';
import { EndEarlyRuns } from './end-early-runs.ts';

interface RecordOutcomesOptions {
  stores: Pick<Stores, 'outcomes' | 'submissions'>;
  early: EarlyRuns;
  outage: OutageTracker;
  facts: EndpointFactsCache;
  cursors: QueueCursors;
  gate: QueueGate;
  traffic: TrafficMeter;
  events: CoreEvents;
  /** Validates user data in slices, fair by account. */
  checks: SlicedWork;
  tasks: TaskGroup;
  /** Receives every job that became final, with its output, before any other listener. */
  onFinal(job: Job): void;
  /** Called when webhook calls were ordered. */
  onWebhooks(): void;
  /** Default: no metrics. */
  meter?: EngineMeter;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

type RecordResult = 'recorded' | 'stale';
type Rules = RetryRules & { accountId: string };

const BATCH_ITEMS_MAX = 500;
/** A batch is copied twice in one tick of the event loop, some 2 ms for 4 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const WAITING_MAX = 50_000;
const WAITING_BYTES_MAX = 256 * 1024 * 1024;
/** A batch that keeps failing is logged after this many milliseconds, and again after as many more. */
const WARN_PERIOD_MS = 5_000;
/** Rules for a deleted endpoint: its jobs are being deleted too. */
const NO_RETRIES: Rules = { retryLimit: 0, retryHandlerErrors: false, accountId: '' };

export class RecordOutcomes {
  readonly #options: RecordOutcomesOptions;
  readonly #batcher: Batcher<OutcomeEntry, RecordResult>;
  readonly #budget: ByteBudget;
  readonly #early: EndEarlyRuns;

  constructor(options: RecordOutcomesOptions) {
    this.#options = options;
    this.#budget = new ByteBudget('outcomes', WAITING_BYTES_MAX, options.meter?.budgets);
    this.#batcher = new Batcher<OutcomeEntry, RecordResult>({
      name: 'outcomes',
      meter: options.meter?.batches,
      clock: options.clock,
      flush: (entries) => this.#flush(entries),
      itemsMax: BATCH_ITEMS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: (entry) => entry.output?.length ?? 0,
      waitingMax: WAITING_MAX,
    });
    this.#early = new EndEarlyRuns({ ...options, announce: (entries, written) => this.#announce(entries, written) });
  }

  /** Implements AttemptCalls.recordOutcome. Throws OverloadError if too much is waiting; retry later. */
  record(outcome: AttemptOutcome): Promise<RecordResult> {
    const rules = this.#rules(outcome.endpointId);
    return rules instanceof Promise ? rules.then((known) => this.#check(outcome, known)) : this.#check(outcome, rules);
  }

  /** Avoids promises where the result is known at once: many outcomes wait for one commit. */
  #check(outcome: AttemptOutcome, rules: Rules): Promise<RecordResult> {
    const checked = this.#options.checks.run(rules.accountId, outcome.output?.length ?? 0, soundOutcome(outcome));
    return checked instanceof Promise
      ? checked.then((sound) => this.#add(entryOf(sound, rules)))
      : this.#add(entryOf(checked, rules));
  }

  #add(entry: OutcomeEntry): Promise<RecordResult> {
    const record = (): Promise<RecordResult> => this.#batcher.add(entry);
    return this.#budget.hold(entry.output?.length ?? 0, () => this.#early.end(entry, record) ?? record());
  }

  #rules(endpointId: string): Rules | Promise<Rules> {
    const { facts, clock, random, tasks } = this.#options;
    const known = facts.get(endpointId);
    if (!(known instanceof Promise)) return known;
    const read = async (): Promise<Rules> => await facts.get(endpointId);
    return known
      .catch(() => persist(read, { clock, random, forMs: Infinity, signal: tasks.signal }))
      .catch((error: unknown) => {
        if (error instanceof DomainError) return NO_RETRIES;
        throw error;
      });
  }

  async #flush(entries: readonly OutcomeEntry[]): Promise<(RecordResult | Error)[]> {
    const sorted = entries.toSorted(byJob);
    const recorded = new Set<OutcomeEntry>();
    const failed = new Map<OutcomeEntry, Error>();
    for (const part of await this.#persist(sorted, failed)) recorded.add(sorted[part.index]!);
    return entries.map((entry) => failed.get(entry) ?? (recorded.has(entry) ? 'recorded' : 'stale'));
  }

  /**
   * Records all entries in one statement. If the database rejects the batch, records them one by one, so that a bad
   * outcome does not block the others.
   */
  async #persist(sorted: readonly OutcomeEntry[], failed: Map<OutcomeEntry, Error>): Promise<RecordedOutcome[]> {
    const { stores, clock, random, tasks, logger, meter, tracing } = this.#options;
    const trace = tracing?.ends('record outcomes', sorted);
    const options = { clock, random, forMs: Infinity, signal: tasks.signal, onFailure: this.#warner(sorted) };
    try {
      const written = await persist(() => stores.outcomes.record(sorted), options);
      trace?.end();
      meter?.recorded(sorted.length, written);
      for (const { index } of written) if (sorted[index]!.outOfMemory) meter?.ranOutOfMemory(sorted[index]!.endpointId);
      this.#announce(sorted, written);
      if (trace) tracing!.forget(written.map(({ index }) => sorted[index]!));
      return written;
    } catch (error) {
      trace?.end('not recorded');
      meter?.outcomesFailed();
      if (isTransient(error) || sorted.length === 1) throw error;
      logger.error(
        { err: error, ...someAttempts(sorted) },
        'database rejected a batch of outcomes, recording them one by one',
      );
    }
    const all: RecordedOutcome[] = [];
    for (const [index, entry] of sorted.entries()) {
      try {
        const [written] = await this.#persist([entry], failed);
        if (written) all.push({ ...written, index });
      } catch (error) {
        logger.error({ err: error, ...refOf(entry) }, 'database rejected an outcome');
        failed.set(entry, error instanceof Error ? error : new Error(String(error)));
      }
    }
    return all;
  }

  /**
   * Logs a batch that keeps failing. All other outcomes of this replica wait behind it, which must never stay silent.
   */
  #warner(outcomes: readonly OutcomeEntry[]): (error: unknown) => void {
    const { clock, logger, meter } = this.#options;
    let dueAtMs = clock.monotonicMs() + WARN_PERIOD_MS;
    return (error) => {
      meter?.outcomesFailed();
      const nowMs = clock.monotonicMs();
      if (nowMs < dueAtMs) return;
      dueAtMs = nowMs + WARN_PERIOD_MS;
      logger.warn({ err: error, ...someAttempts(outcomes) }, 'outcomes still not recorded, will retry');
    };
  }

  #announce(entries: readonly OutcomeEntry[], written: readonly RecordedOutcome[]): void {
    const { cursors, gate, traffic, events, onFinal, onWebhooks, logger, tracing } = this.#options;
    const final: Job[] = [];
    const queued = new Set<string>();
    const ended = new Map<string, number>();
    const isDebug = logger.isLevelEnabled('debug');
    for (const { index, job, position, lowPriority } of written) {
      if (isDebug)
        logger.debug(
          {
            ...refOf(entries[index]!),
            ...tracing?.fieldsOf(entries[index]!),
            workerId: job.workerId,
            state: job.state,
          },
          'outcome recorded',
        );
      if (job.state === 'IN_QUEUE') {
        cursors.queued(job.endpointId, position, 1);
        gate.changed(job.endpointId, 1);
        queued.add(job.endpointId);
        continue;
      }
      traffic.ended(job, lowPriority);
      if (!lowPriority) ended.set(job.endpointId, (ended.get(job.endpointId) ?? 0) + 1);
      const whole = { ...job, output: entries[index]!.output };
      final.push(whole);
      onFinal(whole);
    }
    if (written.some(({ hasWebhook }) => hasWebhook)) onWebhooks();
    events.emit(
      'settled',
      final.map((job) => ({ endpointId: job.endpointId, jobId: job.id })),
    );
    events.emit(
      'load',
      [...ended].map(([endpointId, jobs]) => ({ endpointId, jobs: -jobs })),
    );
    events.emit('queued', [...queued]);
  }
}

/** Returns the ids to log. */
function refOf({ endpointId, jobId, attempt, machineId }: OutcomeEntry): object {
  return { endpointId, jobId, attempt, machineId };
}

function entryOf(outcome: AttemptOutcome, rules: RetryRules): OutcomeEntry {
  const { endpointId, jobId, attempt, machineId, kind, output } = outcome;
  const reported = kind === 'COMPLETED' || kind === 'FAILED';
  const remembered = rememberedAs(kind);
  const text =
    kind === 'LOST' || kind === 'STOPPED'
      ? lossText(outcome.error, kind)
      : outcome.error || 'the handler failed without saying why';
  return {
    endpointId,
    jobId,
    attempt,
    machineId,
    rule: outcomeRule(kind, rules, outcome.outOfMemory),
    output: reported ? output : undefined,
    error: kind === 'COMPLETED' ? undefined : text.slice(0, ERROR_LENGTH_MAX),
    ...(remembered && { remembered }),
    ...(reported && outcome.executionMs !== undefined && { executionMs: outcome.executionMs }),
    ...(outcome.outOfMemory && { outOfMemory: true }),
  };
}
