/** job-take and job-take-batch: a worker asks for work and is held until there is some (docs/worker-protocol.md#taking-jobs). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { delay } from '../../core/runtime/clock.ts';
import type { Worker } from '../units/workers/worker.ts';
import { LongPoll } from './long-poll.ts';
import type { BridgeParts } from './bridge-parts.ts';
import { answerNobody, queryCount, queryText, workerOfCall } from './worker-call.ts';

/** Most jobs in one answer. */
const BATCH_MAX = 1_000;
/** Pause before the answer to a worker that was told to end and asks again, in milliseconds. */
const LEAVING_PAUSE_MS = 200;

/** Adds both routes; a POST is taken like a GET. */
export function registerTake(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  const route = (path: string, batch: boolean): void => {
    const handler = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => take(parts, request, reply, batch);
    app.route({ method: ['GET', 'POST'], url: `${prefix}/${path}/:worker`, handler });
  };
  route('job-take', false);
  route('job-take-batch', true);
}

async function take(parts: BridgeParts, request: FastifyRequest, reply: FastifyReply, batch: boolean): Promise<FastifyReply> {
  const worker = workerOfCall(parts, request);
  if (typeof worker === 'string') return answerNobody(parts, reply, worker);
  if (worker.isStopping) {
    await delay(parts.clock, LEAVING_PAUSE_MS, parts.stopping);
    return reply.code(204).send();
  }
  if (queryText(request, 'job_in_progress') === '0') parts.evidence.idle(worker);
  // Only the SDK of this repository says it in words.
  parts.polls.declare(worker.id, queryCount(request, 'concurrency', BATCH_MAX));
  if (!worker.asked) worker.ready();
  // A worker that tells its free slots asks in one take at a time: an older one has been given up.
  if (worker.sdk.traits.tellsFreeSlots) for (const older of parts.polls.takes(worker.id)) older.empty();
  reply.hijack();
  hold(parts, worker, reply, { requested: batch ? (queryCount(request, 'batch_size', BATCH_MAX) ?? 1) : 1, batch });
  return reply;
}

function hold(parts: BridgeParts, worker: Worker, reply: FastifyReply, demand: { requested: number; batch: boolean }): void {
  const onClosed = (): void => {
    release();
    parts.reporter.capacityChanged(worker);
  };
  const poll = new LongPoll({ response: reply.raw, clock: parts.clock, onClosed });
  const release = parts.polls.holdTake(worker.id, poll, demand);
  parts.handOver.offer(worker);
  parts.reporter.capacityChanged(worker);
}
