/** Names by which OpenAI clients know an endpoint's models, for the playground. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../../plugins/public-id.ts';
import type { ConsoleParts } from '../../console-parts.ts';
import type { ModelsView } from '../../views-of-models.ts';
import { optionsOf } from '../list-query.ts';

/** Adds the route. */
export function endpointModelRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/models', { onRequest }, async (request): Promise<ModelsView> => {
    const id = endpointIdInPath(request);
    const options = optionsOf(request);
    const { models } = await core.models.call((client) => client.listModels, { model: '' }, options);
    // Every endpoint is a model by its own name. That does not show what its workers answer.
    const names = models
      .filter(({ name, endpoints }) => endpoints.some((endpoint) => endpoint.id === id && endpoint.name !== name))
      .map(({ name }) => name);
    const [model] = names;
    if (model === undefined) return { names, served: '' };
    const { targets } = await core.models
      .call((client) => client.resolveModel, { model }, options)
      .catch(() => ({ targets: [] }));
    const target = targets.find(({ endpointId }) => endpointId === id);
    return { names, served: target?.workerModel || model };
  });
}
