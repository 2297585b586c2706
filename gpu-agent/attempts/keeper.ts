/**
 * Keeps for the agent's successor what it must know of workers in containers, which outlive the agent, and of their
 * attempts; take-up.ts takes it up. Of workers that are processes, which end with the agent, it keeps nothing and costs
 * nothing.
 *
 * A value that a worker streams is kept before the worker is answered, so none that was taken is lost with the agent.
 * The Python SDK sends no value again whose connection broke: one that was on its way when the agent ended is missing,
 * and its attempt must run again unless the outcome brings all values along. Our own SDK sends it again: it gets the
 * same numbers as before, which core stores once.
 */
import { createHash } from 'node:crypto';
import type { AttemptChunk } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { KeptAttempt, KeptWorker, RunLog } from '../spool/run-log.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { Attempt } from './attempt.ts';

/** What tells one streamed value from the next: its length, and this much of its beginning and end. */
const MARK_BYTES = 16 * 1024;

export class Keeper {
  readonly #log: RunLog;

  constructor(log: RunLog) {
    this.#log = log;
  }

  /** What is to be known of the worker has changed. */
  worker(worker: Worker): void {
    if (worker.outlives) this.#log.worker(worker.id, worker.isRunning ? keptWorker(worker) : undefined);
  }

  /**
   * The worker is about to be given these. What resolves when that is kept; undefined: nothing has to be waited for.
   */
  handed(worker: Worker, attempts: readonly Attempt[]): Promise<void> | undefined {
    if (!worker.outlives) return undefined;
    for (const attempt of attempts) {
      attempt.isKept = true;
      this.#log.attempt(keptOf(attempt));
    }
    return this.#log.written();
  }

  /** The worker has begun to send a value. */
  begun(attempt: Attempt): void {
    if (attempt.phase === 'ended') return;
    attempt.begun = true;
    this.#log.attempt(keptOf(attempt));
  }

  /**
   * A value has arrived: answers whether it was taken before. Its chunks follow, `taken` and, when the worker knows
   * that, `answered`.
   */
  value(worker: Worker, attempt: Attempt, body: Buffer): boolean {
    const mark = markOf(body);
    const again = worker.sdk.traits.sendsAgain && attempt.lastValue?.mark === mark;
    if (again) attempt.chunkNumber = attempt.lastValue!.before;
    else attempt.lastValue = { mark, before: attempt.chunkNumber };
    this.#log.attempt(keptOf(attempt));
    return again;
  }

  /** A chunk of the value. */
  chunk(chunk: AttemptChunk): void {
    this.#log.chunk(chunk);
  }

  /** All of the value was taken. Resolves when that is kept. */
  taken(attempt: Attempt): Promise<void> {
    attempt.begun = false;
    if (attempt.phase !== 'ended') this.#log.attempt(keptOf(attempt));
    return this.#log.written();
  }

  /** The worker knows that its last value was taken. */
  answered(attempt: Attempt): void {
    attempt.lastValue = undefined;
    if (attempt.phase !== 'ended') this.#log.attempt(keptOf(attempt));
  }

  /** Core has stored the attempt's chunks up to this number. */
  stored(key: string, number: number): void {
    this.#log.stored(key, number);
  }

  /** The attempt's outcome is safe. */
  ended(attempt: Attempt): void {
    this.#log.forgetAttempt(attempt.key);
  }
}

function keptOf({ ref, chunkNumber, yielded, begun, leftOut, missed, lastValue }: Attempt): KeptAttempt {
  return {
    ref,
    chunkNumber,
    yielded,
    ...(begun && { begun }),
    ...(lastValue && { lastValue }),
    ...(leftOut !== undefined && { leftOut }),
    ...(missed !== undefined && { missed }),
  };
}

function keptWorker({ endpointId, token, spec, sdk, asked, refresh, state }: Worker): KeptWorker {
  const { imageName, gpuUuids, concurrency, version, initTimeoutSeconds, httpServer } = spec;
  return {
    endpointId,
    token,
    image: imageName,
    gpuUuids,
    concurrency,
    version,
    initTimeoutSeconds,
    ...(httpServer && { httpServer }),
    sdk: sdk.version,
    asked,
    refresh,
    frozen: state === WorkerState.FROZEN,
  };
}

function markOf(body: Buffer): string {
  const hash = createHash('sha1')
    .update(body.subarray(0, MARK_BYTES))
    .update(body.subarray(Math.max(MARK_BYTES, body.length - MARK_BYTES)));
  return `${body.length} ${hash.digest('base64')}`;
}
