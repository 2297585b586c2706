/** GET /explain and /explain/{job_id}: why (docs/api.md#explain). */
import type { FastifyRequest } from 'fastify';
import type { EndpointExplanation } from '../../proto/gen/slipway/v1/explanation.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { endpointIdOf, jobIdOf, sendJson } from '../jobs/job-parts.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import type { RecentRefusals } from '../plugins/recent-refusals.ts';
import { endpointExplanationRecord, jobExplanationRecord } from '../resources/explanations/present-explanation.ts';

/** Of the endpoint. */
export function explainEndpoint({ endpoints, refusals }: JobParts): JobHandler {
  return async (request, reply) => {
    const { apiKey } = request.caller;
    const { explanation } = await endpoints.call((client) => client.explain, { endpointId: endpointIdOf(request) }, { apiKey, repeatable: true });
    if (!explanation) throw nothing();
    return sendJson(reply, JSON.stringify(endpointExplanationRecord(withRates(explanation, request, refusals))));
  };
}

/** Of a job. */
export function explainJob({ jobs, refusals }: JobParts): JobHandler {
  return async (request, reply) => {
    const { explanation } = await jobs.explain(request.caller.apiKey, endpointIdOf(request), jobIdOf(request));
    if (!explanation) throw nothing();
    const endpoint = explanation.endpoint && withRates(explanation.endpoint, request, refusals);
    return sendJson(reply, JSON.stringify(jobExplanationRecord({ ...explanation, endpoint })));
  };
}

/** Request rates bind at a facade, and core knows nothing of them. */
function withRates(explanation: EndpointExplanation, request: FastifyRequest, refusals: RecentRefusals | undefined): EndpointExplanation {
  const own = refusals?.of(request.caller.accountId, endpointIdOf(request)) ?? [];
  return { ...explanation, limits: [...explanation.limits, ...own] };
}

function nothing(): CoreError {
  return new CoreError('INTERNAL', 'core explained nothing');
}
