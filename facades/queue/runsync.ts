/**
 * POST /runsync: stores a job and waits for its end (docs/reference/api.md#submit). When the wait ends first, the job
 * runs on and a receipt is answered.
 */

import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { isFinal } from '@slipway/proto/wire/final-state';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenCall } from '../core-client/pipeline-client.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson, whileConnected } from '../jobs/job-parts.ts';
import { bodyBytes, dropBody } from '../plugins/bodies/raw-body.ts';
import { idsOf } from '../plugins/request-id.ts';
import { holdJob } from './hold-job.ts';
import { presentJob, presentReceipt, publicStatus } from './present-job.ts';
import { runsyncWaitMs } from './query-numbers.ts';
import { readSubmission } from './submission.ts';

/** Returns the handler of the route. */
export function runsync(parts: JobParts): JobHandler {
  return async (request, reply) => {
    const job = await holdJob(parts, request, reply, () => submitAndWait(parts, request, reply));
    return sendJson(reply, isFinal(job.state) ? presentJob(job) : presentReceipt(job.id, publicStatus(job.state)));
  };
}

async function submitAndWait(parts: JobParts, request: FastifyRequest, reply: FastifyReply): Promise<Job> {
  const job = await whileConnected(parts, request, reply, await submit(parts, request, reply));
  request.jobId = job.id;
  // The line about the request was written when its client left.
  if (reply.raw.closed) parts.logger.debug({ ...idsOf(request) }, 'the client of a job has left, the job continues');
  return job;
}

/** Submits the job. A separate function, so that a large input is held only until it is stored. */
async function submit(
  { jobs, bodies, clock, random }: JobParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OpenCall<Job>> {
  const waitMs = runsyncWaitMs(request.query);
  const body = bodyBytes(request.body);
  const endTurn = await bodies.turn('runsync', request, reply, body.length);
  const submission = await bodies.run(
    request.caller.accountId,
    body.length,
    readSubmission(body, request.headers['idempotency-key']),
  );
  return jobs.submitAndWait(
    request.caller.apiKey,
    {
      ...submission,
      endpointId: endpointIdOf(request),
      requestId: orderedUuid({ clock, random }),
      traceparent: request.trace?.traceparent,
      kind: SubmitKind.SYNC,
      waitMs,
    },
    ({ isHeld }) => {
      if (!isHeld) dropBody(request);
      // A small input may come in a large body.
      endTurn?.();
    },
  );
}
