/**
 * Routes job-take and job-take-batch: a worker asks for work, and its request is held until there is some
 * (docs/reference/worker-protocol.md#taking-jobs).
 */

import { delay } from '@slipway/kit/time/clock';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Worker } from '../workloads/workers/worker.ts';
import type { BridgeParts } from './bridge-parts.ts';
import { LongPoll } from './long-poll.ts';
import type { Demand, HeldCall } from './open-polls.ts';
import { answerNobody, queryCount, queryText, workerOfCall } from './worker-call.ts';

/** Most jobs in one answer. */
export const BATCH_MAX = 1_000;
/** Pause before the answer to a worker that was asked to end and asks again, in milliseconds. */
export const LEAVING_PAUSE_MS = 200;

/** Adds both routes. A POST is handled like a GET. */
export function registerTake(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  const route = (path: string, batch: boolean): void => {
    const handler = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      take(parts, request, reply, batch);
    app.route({ method: ['GET', 'POST'], url: `${prefix}/${path}/:worker`, handler });
  };
  route('job-take', false);
  route('job-take-batch', true);
}

async function take(
  parts: BridgeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  batch: boolean,
): Promise<FastifyReply> {
  const worker = workerOfCall(parts, request);
  if (typeof worker === 'string') return answerNobody(parts, reply, worker);
  if (worker.isStopping) {
    await delay(parts.clock, LEAVING_PAUSE_MS, parts.stopping);
    return reply.code(204).send();
  }
  reply.hijack();
  holdTake(
    parts,
    worker,
    {
      requested: batch ? (queryCount(request, 'batch_size', BATCH_MAX) ?? 1) : 1,
      batch,
      idle: queryText(request, 'job_in_progress') === '0',
      concurrency: queryCount(request, 'concurrency', BATCH_MAX),
    },
    (onClosed) => new LongPoll({ response: reply.raw, clock: parts.clock, onClosed }),
  );
  return reply;
}

/** Content of a take. */
interface TakeCall extends Demand {
  /** The worker holds no job at all. */
  idle: boolean;
  /** Declared concurrency. Only this repository's SDK sends it. */
  concurrency: number | undefined;
}

/**
 * Holds a worker's take until there are jobs for it. `open` makes the held call; it calls its argument once the call
 * can no longer be answered.
 */
export function holdTake(
  parts: BridgeParts,
  worker: Worker,
  call: TakeCall,
  open: (onClosed: () => void) => HeldCall,
): void {
  parts.evidence.takes(worker, call.idle);
  parts.polls.declare(worker.id, call.concurrency);
  const holding = parts.holdings.of(worker.id);
  holding.pace.asks(call.requested, { held: holding.size, idle: call.idle });
  if (!worker.asked) worker.ready();
  // A worker that reports its free slots has one take open at a time: an older one has been given up.
  if (worker.sdk.traits.reportsFreeSlots) for (const older of parts.polls.takes(worker.id)) older.empty();
  const poll = open(() => {
    release();
    parts.reporter.capacityChanged(worker);
  });
  const release = parts.polls.holdTake(worker.id, poll, call);
  parts.handOver.offer(worker);
  parts.reporter.capacityChanged(worker);
}
