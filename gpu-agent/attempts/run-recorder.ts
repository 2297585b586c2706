/**
 * Keeps for the agent's next run what it must know of workers in containers, which outlive the agent, and of their
 * attempts. adopt-attempts.ts adopts it. Worker processes end with the agent: nothing is kept for them, at no cost.
 *
 * A value that a worker streams is kept before the worker is answered, so no accepted value is lost with the agent. The
 * Python SDK does not resend a value whose connection broke. A value that was on its way when the agent ended is
 * therefore missing, and its attempt must run again unless the outcome brings all values along. Our own SDK resends it:
 * the value gets the same numbers as before, and core stores it once.
 */
import { createHash } from 'node:crypto';
import type { AttemptChunk } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { AttemptRecord, RunLog, WorkerRecord } from '../spool/run-log.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { Attempt } from './attempt.ts';

/**
 * Bytes at the beginning and at the end of a streamed value that, together with its length, distinguish it from the
 * next.
 */
const MARK_BYTES = 16 * 1024;

export class RunRecorder {
  readonly #log: RunLog;

  constructor(log: RunLog) {
    this.#log = log;
  }

  /** Records a change of what the next run must know of the worker. */
  worker(worker: Worker): void {
    if (worker.outlives) this.#log.worker(worker.id, worker.isRunning ? workerRecord(worker) : undefined);
  }

  /**
   * Records attempts that the worker is about to be given. Resolves when they are written; `undefined` if there is
   * nothing to wait for.
   */
  handed(worker: Worker, attempts: readonly Attempt[]): Promise<void> | undefined {
    if (!worker.outlives) return undefined;
    for (const attempt of attempts) {
      attempt.isKept = true;
      this.#log.attempt(attemptRecord(attempt));
    }
    return this.#log.written();
  }

  /** Records that the worker has begun to send a value. */
  begun(attempt: Attempt): void {
    if (attempt.phase === 'ended') return;
    attempt.begun = true;
    this.#log.attempt(attemptRecord(attempt));
  }

  /**
   * Records a value that has arrived. Returns true if it was accepted before. Calls for its chunks follow, then
   * `taken`, and `answered` once the worker knows that the value was accepted.
   */
  value(worker: Worker, attempt: Attempt, body: Buffer): boolean {
    const mark = markOf(body);
    const again = worker.sdk.traits.sendsAgain && attempt.lastValue?.mark === mark;
    if (again) attempt.chunkNumber = attempt.lastValue!.before;
    else attempt.lastValue = { mark, before: attempt.chunkNumber };
    this.#log.attempt(attemptRecord(attempt));
    return again;
  }

  /** Records a chunk of the value. */
  chunk(chunk: AttemptChunk): void {
    this.#log.chunk(chunk);
  }

  /** Records that all of the value was accepted. Resolves when that is written. */
  taken(attempt: Attempt): Promise<void> {
    attempt.begun = false;
    if (attempt.phase !== 'ended') this.#log.attempt(attemptRecord(attempt));
    return this.#log.written();
  }

  /** Records that the worker knows that its last value was accepted. */
  answered(attempt: Attempt): void {
    attempt.lastValue = undefined;
    if (attempt.phase !== 'ended') this.#log.attempt(attemptRecord(attempt));
  }

  /** Records that core has stored the attempt's chunks up to this number. */
  stored(key: string, number: number): void {
    this.#log.stored(key, number);
  }

  /** Forgets an attempt whose outcome is safe. */
  ended(attempt: Attempt): void {
    this.#log.forgetAttempt(attempt.key);
  }
}

function attemptRecord({ ref, chunkNumber, yielded, begun, leftOut, missed, lastValue }: Attempt): AttemptRecord {
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

function workerRecord({ endpointId, token, spec, sdk, asked, refresh, state, memory }: Worker): WorkerRecord {
  const { imageName, gpuUuids, concurrency, version, initTimeoutSeconds, memoryGb, httpServer } = spec;
  return {
    endpointId,
    token,
    image: imageName,
    gpuUuids,
    concurrency,
    version,
    initTimeoutSeconds,
    memoryGb,
    ...(httpServer && { httpServer }),
    sdk: sdk.version,
    asked,
    refresh,
    frozen: state === WorkerState.FROZEN,
    ...memory?.record,
  };
}

function markOf(body: Buffer): string {
  const hash = createHash('sha1')
    .update(body.subarray(0, MARK_BYTES))
    .update(body.subarray(Math.max(MARK_BYTES, body.length - MARK_BYTES)));
  return `${body.length} ${hash.digest('base64')}`;
}
