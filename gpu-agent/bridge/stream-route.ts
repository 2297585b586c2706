/** job-stream: one yielded value. The generator waits for the answer, so it comes from memory (compat.md 2.6.3). */
import type { FastifyInstance } from 'fastify';
import type { Work } from '../../core/runtime/sliced-work.ts';
import { OutcomeKind } from '../../proto/gen/slipway/v1/agent_service.ts';
import { CHUNK_BYTES_MAX } from '../../proto/wire/limits.ts';
import type { Attempt } from '../attempts/attempt.ts';
import type { Worker } from '../workers/worker.ts';
import { interpretChunk } from './interpret-result.ts';
import type { ResultBody } from './interpret-result.ts';
import type { BridgeParts } from './bridge-parts.ts';
import { splitChunk } from './split-chunk.ts';
import { answerNobody, workerOfCall } from './worker-call.ts';
import type { CallParams } from './worker-call.ts';

/** Longest metrics of one value in bytes: half of a chunk. */
const METRICS_BYTES_MAX = CHUNK_BYTES_MAX / 2;

/** Adds the route. */
export function registerStream(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  app.post(`${prefix}/job-stream/:worker/:job`, async (request, reply) => {
    const worker = workerOfCall(parts, request);
    if (worker === 'refused') return answerNobody(parts, reply, worker);
    const attempt = worker === 'gone' ? undefined : worker.held.get((request.params as CallParams).job!);
    if (worker !== 'gone' && attempt && !attempt.stop) {
      await append(parts, worker, attempt, (request.body ?? { bytes: Buffer.alloc(0) }) as ResultBody);
    }
    return reply.code(200).send();
  });
}

async function append(parts: BridgeParts, worker: Worker, attempt: Attempt, body: ResultBody): Promise<void> {
  attempt.named(parts.clock.monotonicMs());
  const bytes = 'bytes' in body ? body.bytes.length : 0;
  const { pieces, metrics } = await parts.work.run(worker.endpointId, bytes, cutUp(body));
  if (attempt.phase === 'ended') return;
  if (typeof pieces === 'string') {
    // Its output would have a hole: better an end with a reason.
    const safe = parts.table.end(attempt, OutcomeKind.FAILED, { error: pieces });
    // After the end, which takes an undelivered stop along: the worker still runs the job. Unless it has it anew by now.
    if (!worker.held.has(attempt.ref.jobId)) parts.stopper.signal(worker, attempt.ref.jobId);
    return safe;
  }
  await addAll(parts, attempt, pieces, metrics);
}

async function addAll(parts: BridgeParts, attempt: Attempt, pieces: readonly Buffer[], metrics: Buffer | undefined): Promise<void> {
  for (const [index, output] of pieces.entries()) {
    await parts.chunks.room();
    if (attempt.phase === 'ended') return;
    attempt.chunkNumber += 1;
    parts.chunks.add({ ref: attempt.ref, number: attempt.chunkNumber, output, metrics: index === pieces.length - 1 ? metrics : undefined });
  }
}

/** The pieces of a value, the last of which leaves room for its metrics; or why there are none. */
function* cutUp(body: ResultBody): Work<{ pieces: Buffer[] | string; metrics: Buffer | undefined }> {
  const chunk = yield* interpretChunk(body);
  if ('why' in chunk) return { pieces: chunk.why, metrics: undefined };
  const { output, metrics } = chunk;
  const metricsBytes = metrics?.length ?? 0;
  if (metricsBytes > METRICS_BYTES_MAX) {
    return { pieces: `The metrics of a streamed value take ${metricsBytes} bytes; they may take ${METRICS_BYTES_MAX}.`, metrics: undefined };
  }
  return { pieces: (yield* splitChunk(output, CHUNK_BYTES_MAX - metricsBytes)) ?? tooLarge(output.length), metrics };
}

function tooLarge(bytes: number): string {
  const limit = `A streamed value of ${bytes} bytes is over the limit of ${CHUNK_BYTES_MAX} bytes and cannot be split`;
  return `${limit}: yield text or a list, or smaller values.`;
}
