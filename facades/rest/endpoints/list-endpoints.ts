/** GET /v1/endpoints: a bare array, oldest first (docs/reference/management.md#lists). */
import type { EndedWorkers } from '@slipway/proto/gen/slipway/v1/machine';
import type { ListPodsResponse } from '@slipway/proto/gen/slipway/v1/pod_service';
import type { PageRequest } from '@slipway/proto/wire/pages';
import { allPages } from '@slipway/proto/wire/pages';
import type { EndpointRecord } from '../../resources/endpoints/endpoint-schemas.ts';
import type { EndpointRelations } from '../../resources/endpoints/present-endpoint.ts';
import { presentEndpoint } from '../../resources/endpoints/present-endpoint.ts';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answers, errors } from '../rest-parts.ts';
import { sendList } from '../send-list.ts';
import { EndpointQuery } from './endpoint-query.ts';

const PAGE_SIZE_WITH_WORKERS = 50;

/** Adds the route. */
export function listEndpoints(app: RestApp, { core, budget, gate }: RestParts): void {
  const schema = {
    operationId: 'ListEndpoints',
    tags: ['endpoints'],
    summary: 'List endpoints',
    querystring: EndpointQuery,
    response: { 200: answers<EndpointRecord>('Endpoint'), ...errors() },
  };
  app.get('/v1/endpoints', { schema, onRequest: gate, preValidation: readQuery(EndpointQuery) }, (request, reply) => {
    const {
      caller: { apiKey, accountId },
      query: { includeTemplate = false, includeWorkers = false },
    } = request;
    // The workers of a page of endpoints are held at once.
    const which = { includeTemplate, ...(includeWorkers && { pageSize: PAGE_SIZE_WITH_WORKERS }) };
    return sendList(budget, request, reply, {
      read: (page, options) => core.endpoints.call((client) => client.listEndpoints, { ...which, ...page }, options),
      present: async ({ endpoints }) => {
        const workers = includeWorkers
          ? await workersOf(
              core,
              apiKey,
              endpoints.map(({ id }) => id),
            )
          : undefined;
        return endpoints.map((endpoint) => presentEndpoint(endpoint, accountId, workers?.(endpoint.id)));
      },
    });
  });
}

/**
 * Returns the workers of endpoints by the endpoint's id: existing ones, and groups of workers that ended by themselves.
 */
export async function workersOf(
  core: RestParts['core'],
  apiKey: string,
  endpointIds: string[],
): Promise<(endpointId: string) => EndpointRelations> {
  if (endpointIds.length === 0) return () => ({});
  const which = { includeWorkers: true, endpointId: '', endpointIds };
  const groups: EndedWorkers[] = [];
  const read = (page: PageRequest): Promise<ListPodsResponse> =>
    core.pods.call((client) => client.listPods, { ...which, ...page }, { apiKey, repeatable: true });
  const pods = await allPages(read, (response) => {
    groups.push(...response.endedWorkers);
    return response.pods;
  });
  const [workers, ended] = [
    Map.groupBy(pods, (pod) => pod.endpointId),
    Map.groupBy(groups, (group) => group.endpointId),
  ];
  return (endpointId) => ({ workers: workers.get(endpointId) ?? [], ended: ended.get(endpointId) ?? [] });
}
