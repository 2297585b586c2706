/** POST /run: stores a job and responds at once (docs/reference/api.md#submit). */

import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import { bodyBytes, dropBody } from '../plugins/bodies/raw-body.ts';
import { presentAccepted } from './present-job.ts';
import { readSubmission } from './submission.ts';

/** Returns the handler of the route. */
export function run({ jobs, bodies, clock, random }: JobParts): JobHandler {
  return async (request, reply) => {
    const body = bodyBytes(request.body);
    await bodies.turn('run', request, reply, body.length);
    const submission = await bodies.run(
      request.caller.accountId,
      body.length,
      readSubmission(body, request.headers['idempotency-key']),
    );
    const job = await jobs.submit(request.caller.apiKey, {
      ...submission,
      endpointId: endpointIdOf(request),
      requestId: orderedUuid({ clock, random }),
      traceparent: request.trace?.traceparent,
      kind: SubmitKind.ASYNC,
      waitMs: 0,
    });
    dropBody(request);
    request.jobId = job.id;
    return sendJson(reply, presentAccepted(job));
  };
}
