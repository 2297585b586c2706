/** Route job-stop: a worker waits for jobs that it should stop (docs/reference/worker-protocol.md#stopping). */

import { delay } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import type { BridgeParts } from './bridge-parts.ts';
import { LongPoll } from './long-poll.ts';
import { answerNobody, workerOfCall } from './worker-call.ts';

/** Pause before the answer to a worker that was asked to end and asks again, in milliseconds. */
const LEAVING_PAUSE_MS = 200;

/** Adds the route. A POST is handled like a GET. */
export function registerStop(app: FastifyInstance, prefix: string, parts: BridgeParts): void {
  app.route({
    method: ['GET', 'POST'],
    url: `${prefix}/job-stop/:worker`,
    handler: async (request, reply) => {
      const worker = workerOfCall(parts, request);
      if (typeof worker === 'string') return answerNobody(parts, reply, worker);
      if (worker.isStopping) {
        await delay(parts.clock, LEAVING_PAUSE_MS, parts.stopping);
        return reply.code(204).send();
      }
      reply.hijack();
      const poll = new LongPoll({ response: reply.raw, clock: parts.clock, onClosed: () => release() });
      const release = parts.polls.holdStop(worker.id, poll);
      parts.stopper.deliver(worker.id);
      return reply;
    },
  });
}
