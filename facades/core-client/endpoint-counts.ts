/** Reads the data for the metrics of one endpoint. */
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import type { CoreClient } from './core-client.ts';

/** Parts of core's client that it uses. */
interface CountedParts {
  jobs: Pick<CoreClient['pipelined'], 'health'>;
  endpoints: CoreClient['endpoints'];
}

/**
 * Returns an endpoint's health and explanation. Throws core's ENDPOINT_NOT_FOUND and UNAUTHORIZED. The key must be
 * permitted to read the endpoint's jobs.
 */
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
