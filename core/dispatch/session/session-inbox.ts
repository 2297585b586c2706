/**
 * Passes an agent's reports about attempts to the engine. A slot is free as soon as its attempt's end has arrived;
 * the acknowledgement follows the commit. A failed write is retried while the session lives, because the agent sends
 * once and then waits. The number of writes in flight is bounded: beyond it the stream is not read.
 */

import { retryUntil } from '@slipway/kit/lifecycle/retry';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type {
  AttemptProgress,
  AttemptRef,
  AttemptChunk as ChunkMessage,
  AttemptOutcome as OutcomeMessage,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineAttempt } from '../../domain/jobs/job.ts';
import type { AttemptCalls } from '../../jobs/job-engine.ts';
import type { LiveAttempt, LiveJobs } from '../../jobs/live-jobs.ts';
import type { AttemptOutcome } from '../../jobs/record/attempt-report.ts';
import { keyFromRef, outcomeFromMessage, refOf } from '../agent-messages.ts';
import { ChunkInbox } from '../reports/chunk-inbox.ts';
import type { ExecutionTimes } from '../reports/execution-times.ts';
import type { SessionOutbox } from '../session-outbox.ts';
import type { SlotPool } from '../slot-pool.ts';
import type { WorkerSlots } from '../worker-slots.ts';

/** Writes in flight beyond which the stream is not read, and below which it is read again. */
const IN_FLIGHT_MAX = 10_000;
const BYTES_IN_FLIGHT_MAX = 64 * 1024 * 1024;
const PAUSE = { firstMs: 100, maxMs: 2_000 };

interface SessionInboxOptions {
  /** Returns the id of the machine whose agent reports. */
  machineId(): string;
  attempts: AttemptCalls;
  pool: SlotPool;
  times: ExecutionTimes;
  outbox: SessionOutbox;
  live: LiveJobs;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Records that a worker finished an attempt with a result. */
  onHealthy(workerId: string): void;
  /** Records which attempts the machine has prefetched and not started. */
  onWaiting(waiting: readonly MachineAttempt[]): void;
  /** Called when the stream should no longer be read, and when it may be read again. */
  onPressure(high: boolean): void;
}

export class SessionInbox {
  readonly #options: SessionInboxOptions;
  readonly #ended = new AbortController();
  readonly #chunks: ChunkInbox;
  #inFlight = 0;
  #bytesInFlight = 0;
  #high = false;

  constructor(options: SessionInboxOptions) {
    this.#options = options;
    this.#chunks = new ChunkInbox({
      attempts: options.attempts,
      outbox: options.outbox,
      count: (items, bytes) => this.#count(items, bytes),
      write: (ids, write) => this.#tryUntilWritten(ids, write),
    });
  }

  /** Ends retries, because the session is over. Writes in flight may still succeed, which is safe. */
  close(): void {
    this.#ended.abort();
  }

  /** Records pieces of streamed output. */
  chunks(messages: readonly ChunkMessage[]): void {
    if (messages.length > 0) this.#chunks.add(messages, this.#options.machineId());
  }

  /** Records the latest progress values. */
  progress(messages: readonly AttemptProgress[]): void {
    for (const { ref, output } of messages) {
      const key = keyFromRef(ref, this.#options.machineId());
      if (key) this.#options.attempts.recordProgress(key, output);
    }
  }

  /** Records the outcomes of attempts. */
  outcomes(messages: readonly OutcomeMessage[]): void {
    const { live, pool, onHealthy } = this.#options;
    for (const message of messages) {
      const outcome = outcomeFromMessage(message, this.#options.machineId());
      if (!outcome) continue;
      const attempt = live.arrive(outcome);
      // Only attempts that the session held count: reports about other machines' attempts are ignored.
      const worker = pool.releaseAttempt(attempt);
      if (worker) this.#measure(outcome);
      const workerId = message.ref!.workerId;
      if (outcome.kind === 'COMPLETED' || outcome.kind === 'FAILED') onHealthy(workerId);
      // An early run needs no claim, and there are never more of them than callers that wait.
      this.#record(attempt, outcome, workerId, attempt.job.run ? undefined : worker);
    }
  }

  /** Handles jobs that wait behind a job that takes longer than expected. */
  waiting(refs: readonly AttemptRef[]): void {
    const { pool, times, attempts } = this.#options;
    const waiting = refs
      .flatMap((ref) => keyFromRef(ref, this.#options.machineId()) ?? [])
      .filter((key) => pool.holds(key));
    for (const endpointId of new Set(waiting.map((key) => key.endpointId))) times.discard(endpointId);
    if (waiting.length === 0) return;
    void this.#write({ machineId: this.#options.machineId() }, 0, () => attempts.postpone(waiting));
    this.#options.onWaiting(waiting);
  }

  #measure({ endpointId, kind, executionMs }: AttemptOutcome): void {
    if (kind === 'LOST' || kind === 'STOPPED') this.#options.times.discard(endpointId);
    else if (executionMs !== undefined) this.#options.times.record(endpointId, executionMs);
  }

  /**
   * Records one outcome. It uses no async function: thousands of outcomes wait for a commit at a time, and each garbage
   * collection of young objects copies everything that waits. `worker`: for which it counts until it is recorded.
   */
  #record(arriving: LiveAttempt, outcome: AttemptOutcome, workerId: string, worker: WorkerSlots | undefined): void {
    const { live, pool, attempts, outbox } = this.#options;
    const bytes = outcome.output?.length ?? 0;
    if (worker) pool.countUnrecorded(worker, 1);
    const over = (): void => {
      this.#count(-1, -bytes);
      live.arrived(arriving);
      if (worker) pool.countUnrecorded(worker, -1);
      if (!this.#ended.signal.aborted) outbox.ackOutcome(refOf({ ...outcome, workerId }));
    };
    const write = (): Promise<unknown> => attempts.recordOutcome(outcome);
    const failed = (error: unknown): void => {
      const { endpointId, jobId, attempt, machineId } = outcome;
      void this.#tryAgain({ endpointId, jobId, attempt, workerId, machineId }, error, write).then(over);
    };
    const begin = (): void => {
      this.#count(1, bytes);
      if (this.#ended.signal.aborted) over();
      else write().then(over, failed);
    };
    const chunks = this.#chunks.written(outcome);
    if (chunks) void chunks.then(begin);
    else begin();
  }

  /** Retries a write until it succeeds or the session is over. `ids`: identifiers for the log. Never rejects. */
  async #write(ids: object, bytes: number, write: () => Promise<unknown>): Promise<void> {
    this.#count(1, bytes);
    await this.#tryUntilWritten(ids, write);
    this.#count(-1, -bytes);
  }

  /** Continues after a first try that failed. Never rejects. */
  #tryAgain(ids: object, failure: unknown, write: () => Promise<unknown>): Promise<unknown> {
    let hasFailed = false;
    return this.#tryUntilWritten(ids, () => {
      if (hasFailed) return write();
      hasFailed = true;
      return Promise.reject(failure as Error);
    });
  }

  /** Retries until the write succeeds. Returns false if the session ended. */
  async #tryUntilWritten(ids: object, write: () => Promise<unknown>): Promise<boolean> {
    const { clock, random, logger } = this.#options;
    await retryUntil(this.#ended.signal, write, {
      clock,
      random,
      pause: PAUSE,
      onFailure: (error) => logger.warn({ err: error, ...ids }, 'a report of an agent was not written, will try again'),
    });
    return !this.#ended.signal.aborted;
  }

  #count(writes: number, bytes: number): void {
    this.#inFlight += writes;
    this.#bytesInFlight += bytes;
    const high = this.#inFlight > IN_FLIGHT_MAX || this.#bytesInFlight > BYTES_IN_FLIGHT_MAX;
    const low = this.#inFlight < IN_FLIGHT_MAX / 2 && this.#bytesInFlight < BYTES_IN_FLIGHT_MAX / 2;
    if (this.#high ? !low : !high) return;
    this.#high = !this.#high;
    this.#options.onPressure(this.#high);
  }
}
