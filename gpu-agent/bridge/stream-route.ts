/**
 * Route job-stream: one yielded value. The generator waits for the answer, so a value is answered once it is in memory,
 * without waiting for core (docs/reference/worker-protocol.md#streaming).
 */

import type { Work } from '@slipway/kit/bytes/sliced-work';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { CHUNK_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Attempt } from '../attempts/attempt.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { BridgeParts } from './bridge-parts.ts';
import type { ResultBody } from './interpret-result.ts';
import { interpretChunk } from './interpret-result.ts';
import { splitChunk } from './split-chunk.ts';
import type { CallParams } from './worker-call.ts';
import { answerNobody, workerOfCall } from './worker-call.ts';

/** Longest metrics of one value in bytes: half of a chunk. */
const METRICS_BYTES_MAX = CHUNK_BYTES_MAX / 2;

/** Adds the route. */
export function registerStream(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  const begun = async (request: FastifyRequest): Promise<void> => {
    const { worker: workerId, job } = request.params as CallParams;
    const worker = parts.pool.get(workerId);
    const attempt = worker?.outlives ? parts.holdings.get(workerId)?.of(job!) : undefined;
    if (attempt) parts.recorder.begun(attempt);
  };
  app.post(`${prefix}/job-stream/:worker/:job`, { onRequest: begun }, async (request, reply) => {
    const worker = workerOfCall(parts, request);
    if (worker === 'refused') return answerNobody(parts, reply, worker);
    if (worker === 'gone') return reply.code(200).send();
    const kept = await postValue(
      parts,
      worker,
      (request.params as CallParams).job!,
      (request.body ?? { bytes: Buffer.alloc(0) }) as ResultBody,
    );
    if (kept) reply.raw.once('finish', () => parts.recorder.answered(kept));
    return reply.code(200).send();
  });
}

/**
 * Handles a value that a worker's job yielded. Resolves when it was accepted: with its attempt if the recorder must be
 * told once the worker has the answer, else with `undefined`.
 */
export async function postValue(
  parts: BridgeParts,
  worker: Worker,
  jobId: string,
  body: ResultBody,
): Promise<Attempt | undefined> {
  const attempt = parts.holdings.get(worker.id)?.of(jobId);
  if (!attempt || attempt.stop) return undefined;
  await append(parts, worker, attempt, body);
  if (!worker.outlives) return undefined;
  await parts.recorder.taken(attempt);
  return attempt;
}

async function append(parts: BridgeParts, worker: Worker, attempt: Attempt, body: ResultBody): Promise<void> {
  attempt.named(parts.clock.monotonicMs());
  const again = worker.outlives && 'bytes' in body && parts.recorder.value(worker, attempt, body.bytes);
  if (!again) attempt.yielded += 1;
  const bytes = 'bytes' in body ? body.bytes.length : 0;
  const { pieces = [], metrics, failure, leftOut } = await parts.work.run(worker.endpointId, bytes, cutUp(body));
  if (attempt.phase === 'ended') return;
  if (failure !== undefined) {
    // The output would have a gap: better to end with a reason.
    const safe = parts.table.end(attempt, OutcomeKind.FAILED, { error: failure });
    // After the end, which also removes an undelivered stop: the worker still runs the job. Not if the worker has been
    // given the job again by now.
    if (!parts.holdings.get(worker.id)?.of(attempt.ref.jobId)) parts.stopper.signal(worker, attempt.ref.jobId);
    return safe;
  }
  // Logged once per attempt: an attempt may yield very many.
  if (leftOut !== undefined && attempt.leftOut === undefined)
    parts.logger.warn({ ...attempt.ref, reason: leftOut }, 'streamed value left out');
  attempt.leftOut ??= leftOut;
  await addAll(parts, attempt, { pieces, metrics, keeps: worker.outlives });
}

async function addAll(
  parts: BridgeParts,
  attempt: Attempt,
  { pieces, metrics, keeps }: { pieces: readonly Buffer[]; metrics: Buffer | undefined; keeps: boolean },
): Promise<void> {
  for (const [index, output] of pieces.entries()) {
    await parts.chunks.spaceFor(attempt.key);
    if (attempt.phase === 'ended') return;
    attempt.chunkNumber += 1;
    const chunk = {
      ref: attempt.ref,
      number: attempt.chunkNumber,
      output,
      metrics: index === pieces.length - 1 ? metrics : undefined,
    };
    if (keeps) parts.recorder.chunk(chunk);
    parts.chunks.add(chunk);
  }
}

/** Result of cutting up a value: pieces, a failure or a gap. */
interface Cut {
  /** The last piece leaves space for the metrics. */
  pieces?: Buffer[];
  metrics?: Buffer | undefined;
  /** Reason why the job fails at once. */
  failure?: string;
  /**
   * Reason why the value is not in the stream. A worker that aggregates sends it once more with its outcome, which can
   * hold it (done-route.ts).
   */
  leftOut?: string;
}

function* cutUp(body: ResultBody): Work<Cut> {
  const chunk = yield* interpretChunk(body);
  if ('why' in chunk) return { failure: chunk.why };
  const { output, metrics } = chunk;
  const metricsBytes = metrics?.length ?? 0;
  if (metricsBytes > METRICS_BYTES_MAX) {
    return {
      failure: `The metrics of a streamed value take ${metricsBytes} bytes; they may take ${METRICS_BYTES_MAX}.`,
    };
  }
  const pieces = yield* splitChunk(output, CHUNK_BYTES_MAX - metricsBytes);
  return pieces ? { pieces, metrics } : { leftOut: tooLarge(output.length) };
}

function tooLarge(bytes: number): string {
  const limit = `A streamed value of ${bytes} bytes is over the limit of ${CHUNK_BYTES_MAX} bytes and cannot be split`;
  return (
    `${limit}: yield text or a list, or smaller values, or let the worker aggregate them ` +
    '(return_aggregate_stream).'
  );
}
