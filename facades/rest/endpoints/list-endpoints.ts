/** GET /v1/endpoints: a bare array, oldest first (compat.md 3.2). */
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import type { ListPodsResponse } from '../../../proto/gen/slipway/v1/pod_service.ts';
import { allPages } from '../../../proto/wire/pages.ts';
import type { PageAsked } from '../../../proto/wire/pages.ts';
import { readQuery } from '../read-query.ts';
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { presentEndpoint } from './present-endpoint.ts';
import { sendList } from '../send-list.ts';

const PAGE_SIZE_WITH_WORKERS = 50;

/** Adds the route. */
export function listEndpoints(app: RestApp, { core, room, gate }: RestParts): void {
  const schema = {
    operationId: 'ListEndpoints', tags: ['endpoints'], summary: 'List endpoints',
    querystring: EndpointQuery, response: { 200: answers<EndpointRecord>('Endpoint'), ...errors() },
  };
  app.get('/v1/endpoints', { schema, onRequest: gate, preValidation: readQuery(EndpointQuery) }, (request, reply) => {
    const { caller: { apiKey, accountId }, query: { includeTemplate = false, includeWorkers = false } } = request;
    const options = { apiKey, repeatable: true };
    // The workers of a page of endpoints are held at once.
    const which = { includeTemplate, ...(includeWorkers && { pageSize: PAGE_SIZE_WITH_WORKERS }) };
    return sendList(room, request, reply, {
      read: (page) => core.endpoints.call((client) => client.listEndpoints, { ...which, ...page }, options),
      present: async ({ endpoints }) => {
        const workers = includeWorkers ? await workersOf(core, apiKey, endpoints.map(({ id }) => id)) : undefined;
        return endpoints.map((endpoint) => presentEndpoint(endpoint, accountId, { workers: workers && (workers.get(endpoint.id) ?? []) }));
      },
    });
  });
}

/** Workers of these endpoints by the endpoint's id. */
export async function workersOf(core: RestParts['core'], apiKey: string, endpointIds: string[]): Promise<Map<string, Pod[]>> {
  if (endpointIds.length === 0) return new Map();
  const which = { includeWorkers: true, endpointId: '', endpointIds };
  const read = (page: PageAsked): Promise<ListPodsResponse> => (
    core.pods.call((client) => client.listPods, { ...which, ...page }, { apiKey, repeatable: true })
  );
  return Map.groupBy(await allPages(read, ({ pods }) => pods), (pod) => pod.endpointId);
}
