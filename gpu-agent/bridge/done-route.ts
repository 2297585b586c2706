/**
 * Routes job-done (a result or a progress value) and job-done-batch (several of them). A known job is never answered
 * 4xx: the SDK would lose its result (docs/reference/worker-protocol.md#results).
 */

import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { FastifyInstance } from 'fastify';
import type { Attempt } from '../attempts/attempt.ts';
import { replaceWorker } from '../attempts/replace-worker.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { BridgeParts } from './bridge-parts.ts';
import type { Result, ResultBody } from './interpret-result.ts';
import { interpretResult } from './interpret-result.ts';
import { readResultBatch } from './result-batch.ts';
import { elementCount } from './split-chunk.ts';
import type { CallParams } from './worker-call.ts';
import { answerNobody, queryText, workerOfCall } from './worker-call.ts';

/** Adds both routes. */
export function registerDone(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  registerBatch(app, prefix, parts);
  app.post(`${prefix}/job-done/:worker/:job`, async (request, reply) => {
    const worker = workerOfCall(parts, request);
    if (worker === 'refused') return answerNobody(parts, reply, worker);
    const result = {
      body: (request.body ?? { bytes: Buffer.alloc(0) }) as ResultBody,
      isStream: queryText(request, 'isStream') === 'true',
    };
    const { job } = request.params as CallParams;
    if (worker !== 'gone') {
      // Output that the worker wrote before this request, perhaps about a value that it could not send, may not have
      // been read.
      if (result.isStream)
        await new Promise<void>((resolve) => {
          parts.clock.soon(resolve);
        });
      const attempt = parts.holdings.get(worker.id)?.of(job!);
      await parts.handOver.whileSent(worker, attempt, () => postResult(parts, worker, job!, result));
    }
    return reply.code(200).send();
  });
}

/** A result or progress value that a worker posts. */
interface PostedResult {
  body: ResultBody;
  isStream: boolean;
  /** The worker continues without waiting for the acknowledgement. */
  continues?: boolean;
}

/**
 * Handles a result or a progress value of a worker's job. Resolves when it is safe. Many wait for core at a time, so
 * none may use more promises than it needs.
 */
export function postResult(parts: BridgeParts, worker: Worker, jobId: string, result: PostedResult): Promise<void> {
  const attempt = parts.holdings.get(worker.id)?.of(jobId);
  // A result of an attempt that is not current any more is dropped; the worker need not know.
  if (!attempt) return withheld(parts, worker) ?? Promise.resolve();
  return accept(parts, worker, attempt, result).then((kind) =>
    kind === 'progress' ? undefined : withheld(parts, worker),
  );
}

/** Adds the batch route. It answers once all results are safe. Sending all again after a failure is idempotent. */
function registerBatch(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  app.post(`${prefix}/job-done-batch/:worker`, async (request, reply) => {
    const worker = workerOfCall(parts, request);
    if (typeof worker === 'string') return answerNobody(parts, reply, worker);
    const body = (request.body ?? { bytes: Buffer.alloc(0) }) as ResultBody;
    const results = 'bytes' in body ? readResultBatch(body.bytes) : undefined;
    if (!results) return reply.code(400).send();
    const holding = parts.holdings.get(worker.id);
    await Promise.all(
      results.map(async ({ jobId, isStream, body: bytes }) => {
        const attempt = holding?.of(jobId);
        if (attempt) await accept(parts, worker, attempt, { body: { bytes }, isStream });
      }),
    );
    return reply.code(200).send();
  });
}

function accept(
  parts: BridgeParts,
  worker: Worker,
  attempt: Attempt,
  posted: PostedResult,
): Promise<'progress' | 'result'> {
  const { body } = posted;
  attempt.named(parts.clock.monotonicMs());
  const read = parts.work.run(worker.endpointId, 'bytes' in body ? body.bytes.length : 0, interpretResult(body));
  // Never at once: a value that came before it takes as long.
  return Promise.resolve(read).then((result) => handleResult(parts, worker, attempt, { ...posted, result }));
}

async function handleProgress(
  { logger, toCore }: BridgeParts,
  attempt: Attempt,
  result: Result & { kind: 'ignored' | 'progress' },
): Promise<'progress'> {
  if (attempt.phase === 'ended') return 'progress';
  if (result.kind === 'ignored') logger.warn({ ...attempt.ref, reason: result.why }, 'progress value dropped');
  else if (!attempt.stop) toCore.addProgress({ ref: attempt.ref, output: result.output });
  return 'progress';
}

function handleResult(
  parts: BridgeParts,
  worker: Worker,
  attempt: Attempt,
  read: PostedResult & { result: Result },
): Promise<'progress' | 'result'> {
  const { result, isStream, continues } = read;
  if (result.kind === 'ignored' || result.kind === 'progress') return handleProgress(parts, attempt, result);
  if (attempt.phase === 'ended') return Promise.resolve('result');
  if (isStream) attempt.leftOut ??= attempt.unsendable;
  // Before the attempt ends, so that no other job can take its slot.
  if (result.refresh) replaceWorker(parts, worker, 'Its worker is replaced.');
  const mayHaveGap = result.kind === 'completed' && (attempt.leftOut !== undefined || mayMiss(attempt, isStream));
  const safe = mayHaveGap
    ? finishUnlessGap(parts, worker, attempt, { result, continues })
    : finish(parts, attempt, result, continues);
  return safe.then(() => 'result');
}

async function finishUnlessGap(
  parts: BridgeParts,
  worker: Worker,
  attempt: Attempt,
  { result, continues }: { result: Result & { kind: 'completed' }; continues: boolean | undefined },
): Promise<void> {
  if (!(await hasGap(parts, worker, attempt, result.output))) await finish(parts, attempt, result, continues);
  else if (attempt.leftOut !== undefined)
    await finish(parts, attempt, { ...result, kind: 'failed', error: attempt.leftOut });
  // Another attempt streams all of it.
  else
    await parts.table.end(attempt, attempt.stop ? OutcomeKind.STOPPED : OutcomeKind.LOST, { error: attempt.missed! });
}

/**
 * Returns a promise that resolves when the worker has ended, if the worker must not begin another job; `undefined` if
 * it may continue. Such a worker is ended as soon as its last result is safe, and waits for its answer until then.
 */
function withheld({ holdings, pool }: BridgeParts, worker: Worker): Promise<void> | undefined {
  const holding = holdings.get(worker.id);
  if (!holding?.isFinal) return undefined;
  if (holding.size === 0) pool.kill(worker, { state: WorkerState.STOPPED, reason: 'It is replaced.' });
  return worker.done;
}

/** Returns true if values may be missing among the chunks. */
function mayMiss(attempt: Attempt, isStream: boolean): boolean {
  return attempt.missed !== undefined && (isStream || attempt.yielded > 0);
}

/**
 * Returns true if a value is neither among the chunks nor, where the worker aggregates, in the list of all values that
 * its generator yielded.
 */
async function hasGap(
  parts: BridgeParts,
  worker: Worker,
  attempt: Attempt,
  output: Buffer | undefined,
): Promise<boolean> {
  if (output === undefined) return true;
  // A worker that does not aggregate sends an empty list.
  const least = Math.max(1, attempt.yielded);
  return (await parts.work.run(worker.endpointId, output.length, elementCount(output, least))) < least;
}

function finish(
  parts: BridgeParts,
  attempt: Attempt,
  result: Result & { kind: 'completed' | 'failed' },
  continues = false,
): Promise<void> {
  // It may have ended while its output was scanned.
  if (attempt.phase === 'ended') return Promise.resolve();
  if (attempt.stop) return parts.table.end(attempt, OutcomeKind.STOPPED);
  const { output, refresh } = result;
  // A worker that is to be replaced waits for the outcome before that.
  const ending = { output, unmeasured: refresh, mayWait: continues && !refresh };
  if (result.kind === 'completed') return parts.table.end(attempt, OutcomeKind.COMPLETED, ending);
  return parts.table.end(attempt, OutcomeKind.FAILED, { ...ending, error: result.error });
}
