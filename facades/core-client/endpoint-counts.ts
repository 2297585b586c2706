/** Reads the data for the metrics of one endpoint. */
import type { GetRequestStatsResponse } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { EndpointExplanation } from '@slipway/proto/gen/slipway/v1/explanation';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { CoreClient } from './core-client.ts';

/** Parts of core's client that it uses. */
interface CountedParts {
  jobs: Pick<CoreClient['pipelined'], 'health'>;
  endpoints: CoreClient['endpoints'];
}

/** Data of one endpoint. */
interface EndpointCounts {
  health: GetHealthResponse;
  explanation: EndpointExplanation | undefined;
  /** `undefined` for an endpoint with jobs. */
  requests: GetRequestStatsResponse | undefined;
}

/** Span of the requests that are read, in milliseconds: metrics need only the sums of all. */
const SPAN_MS = 60_000;

/**
 * Returns an endpoint's health, explanation and requests. Throws core's ENDPOINT_NOT_FOUND and UNAUTHORIZED. The key
 * must be permitted to read the endpoint's jobs.
 */
export async function endpointCounts(
  { jobs, endpoints }: CountedParts,
  apiKey: string,
  endpointId: string,
): Promise<EndpointCounts> {
  const options = { apiKey, repeatable: true };
  const [health, { explanation }, requests] = await Promise.all([
    jobs.health(apiKey, endpointId),
    endpoints.call((client) => client.explain, { endpointId }, options),
    endpoints
      .call((client) => client.getRequestStats, { endpointId, spanMs: SPAN_MS }, options)
      .catch((error: unknown) => {
        if (error instanceof CoreError && error.reason === 'WRONG_ENDPOINT_TYPE') return undefined;
        throw error;
      }),
  ]);
  return { health, explanation, requests };
}
