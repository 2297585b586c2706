/** What the metrics of one endpoint are made of, read at once. */
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import type { CoreClient } from './core-client.ts';

/** What of core's client it takes. */
export interface CountedParts {
  jobs: Pick<CoreClient['pipelined'], 'health'>;
  endpoints: CoreClient['endpoints'];
}

/** ENDPOINT_NOT_FOUND, UNAUTHORIZED: as core says. The key must be one that may read the endpoint's jobs. */
export async function endpointCounts(
  { jobs, endpoints }: CountedParts,
  apiKey: string,
  endpointId: string,
): Promise<{ health: GetHealthResponse; explanation: EndpointExplanation | undefined }> {
  const [health, { explanation }] = await Promise.all([
    jobs.health(apiKey, endpointId),
    endpoints.call((client) => client.explain, { endpointId }, { apiKey, repeatable: true }),
  ]);
  return { health, explanation };
}
