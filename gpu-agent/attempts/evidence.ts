/**
 * Evidence in a worker's requests about the jobs that it holds (docs/reference/worker-protocol.md#ping). A job that it
 * names is confirmed. A job that it no longer names has ended: because it was stopped, or without a result that reached
 * the agent.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ResultLine } from '../workloads/workers/result-lines.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Holdings } from './holding.ts';

/**
 * Longest time for which a job that the worker has read, or never will, may be missing from its list before it counts
 * as lost, in milliseconds.
 */
const UNNAMED_MS_MAX = 30_000;
/** Tolerance, in milliseconds: a list may have been made a moment before the job was handed over. */
const LIST_DELAY_MS = 2_000;
/**
 * Longest delay of a worker's output behind its requests, in milliseconds: an engine forwards the output of containers.
 */
const OUTPUT_DELAY_MS = 1_000;

export class Evidence {
  readonly #table: AttemptTable;
  readonly #holdings: Holdings;
  readonly #clock: Clock;

  constructor(options: { table: AttemptTable; holdings: Holdings; clock: Clock }) {
    this.#table = options.table;
    this.#holdings = options.holdings;
    this.#clock = options.clock;
  }

  /** Handles a ping that lists the worker's jobs. */
  listed(worker: Worker, jobIds: ReadonlySet<string>): void {
    const now = this.#clock.monotonicMs();
    for (const attempt of this.#holdings.get(worker.id)?.all() ?? []) {
      if (jobIds.has(attempt.ref.jobId)) attempt.named(now);
      else if (worker.sdk.traits.listsJobs && !attempt.prefetched)
        this.#missing(worker, attempt, now - attempt.silentSinceMs);
    }
  }

  /** Handles a request for work. `idle`: the worker says that it holds no job at all. */
  takes(worker: Worker, idle: boolean): void {
    if (!worker.sdk.traits.reportsFreeSlots) return;
    const now = this.#clock.monotonicMs();
    // Such a worker has one take open at a time, and opens it only once it knows all jobs of the previous answer.
    for (const attempt of this.#holdings.get(worker.id)?.all() ?? []) attempt.answerEnded(now);
    if (idle) this.#idle(worker);
  }

  #idle(worker: Worker): void {
    if (!worker.sdk.traits.listsJobs) return;
    // The worker's takes follow one another, so it knows the answers to earlier ones. An answer that is still being
    // written belongs to a connection that was given up, and comes back by itself.
    const error =
      `The worker ${worker.id} asked for new jobs without having returned a result of this one; its log ` +
      'may say why.';
    for (const attempt of this.#holdings.get(worker.id)?.all() ?? []) {
      if (attempt.flushed && attempt.stop) this.#gone(attempt, error);
      // The worker's output may say why, and arrives on another path.
      else if (attempt.flushed) this.#clock.after(OUTPUT_DELAY_MS, () => this.#gone(attempt, error));
    }
  }

  /** Handles output that says that the worker could not send a value of a job, or is done with a job. */
  resultLine(worker: Worker, { jobId, reason, over }: ResultLine): void {
    const attempt = this.#holdings.get(worker.id)?.of(jobId);
    if (!attempt) return;
    if (reason !== undefined) attempt.unsendable = reason === '' ? undefined : unsendable(worker, reason);
    // A result that was sent arrives before the worker says so.
    if (over && attempt.unsendable !== undefined) this.#gone(attempt, attempt.unsendable);
  }

  #missing(worker: Worker, attempt: Attempt, unnamedMs: number): void {
    // A handler that blocks the event loop leaves the answer in the socket. If the job were given up, it would run when
    // it is read, and once more as its next attempt.
    if (attempt.mayBeUnread) this.#unread(attempt, unnamedMs);
    else if (unnamedMs > (attempt.stop ? LIST_DELAY_MS : UNNAMED_MS_MAX)) this.#lost(worker, attempt);
  }

  #unread(attempt: Attempt, unnamedMs: number): void {
    if (unnamedMs <= LIST_DELAY_MS) return;
    attempt.unread = true;
    // The worker must be asked to stop once it has read the job.
    if (attempt.stop) attempt.stop.early = true;
  }

  #lost(worker: Worker, attempt: Attempt): void {
    this.#gone(
      attempt,
      attempt.confirmed
        ? `The worker ${worker.id} stopped working on the job without returning a result.`
        : `The worker ${worker.id} was given the job and never confirmed it.`,
    );
  }

  #gone(attempt: Attempt, error: string): void {
    if (attempt.stop) void this.#table.end(attempt, OutcomeKind.STOPPED);
    // Another attempt would end in the same way.
    else if (attempt.unsendable !== undefined)
      void this.#table.end(attempt, OutcomeKind.FAILED, { error: attempt.unsendable });
    else void this.#table.end(attempt, OutcomeKind.LOST, { error });
  }
}

function unsendable(worker: Worker, reason: string): string {
  return (
    `The worker ${worker.id} could not send a value that the handler returned or yielded: ${reason}. It must have ` +
    'a JSON form; text must be UTF-8.'
  );
}
