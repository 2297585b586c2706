/** POST /runsync: stores a job and waits for its end (spec.md 4.2). When the wait ends first, the job runs on and a receipt is answered. */
import { SubmitKind } from '../../proto/gen/slipway/v1/job.ts';
import { isFinal } from '../core-client/job-calls.ts';
import { bodyBytes } from '../plugins/raw-body.ts';
import { presentJob, presentReceipt, publicStatus } from './present-job.ts';
import { runsyncWaitMs } from './query-numbers.ts';
import { endpointIdOf, sendJson, whileConnected } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';
import { readSubmission } from './submission.ts';

/** The route. */
export function runsync({ jobs, random }: QueueParts): QueueHandler {
  return async (request, reply) => {
    const waitMs = runsyncWaitMs(request.query);
    const submission = readSubmission(bodyBytes(request.body), request.headers['idempotency-key']);
    const call = jobs.submitAndWait(request.caller.apiKey, {
      ...submission,
      endpointId: endpointIdOf(request),
      requestId: random.uuid(),
      kind: SubmitKind.SYNC,
      waitMs,
    });
    const job = await whileConnected(reply, call);
    return sendJson(reply, isFinal(job.state) ? presentJob(job) : presentReceipt(job.id, publicStatus(job.state)));
  };
}
