/** GET /explain and /explain/{job_id}: why (docs/reference/api.md#explain). */
import { CoreError } from '@slipway/proto/wire/reason';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson } from '../jobs/job-parts.ts';
import { endpointExplanationRecord, jobExplanationRecord } from '../resources/explanations/present-explanation.ts';

/** Explains the state of the endpoint. */
export function explainEndpoint({ endpoints }: JobParts): JobHandler {
  return async (request, reply) => {
    const { apiKey } = request.caller;
    const { explanation } = await endpoints.call(
      (client) => client.explain,
      { endpointId: endpointIdOf(request) },
      { apiKey, repeatable: true },
    );
    if (!explanation) throw nothing();
    return sendJson(reply, JSON.stringify(endpointExplanationRecord(explanation)));
  };
}

/** Explains the state of a job. */
export function explainJob({ jobs }: JobParts): JobHandler {
  return async (request, reply) => {
    const { explanation } = await jobs.explain(request.caller.apiKey, endpointIdOf(request), jobIdOf(request));
    if (!explanation) throw nothing();
    return sendJson(reply, JSON.stringify(jobExplanationRecord(explanation)));
  };
}

function nothing(): CoreError {
  return new CoreError('INTERNAL', 'core explained nothing');
}
