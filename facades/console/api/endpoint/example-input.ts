/** Example of a request to an endpoint, for "Try it" and the code samples of its page. */
import { ExampleInputOrigin } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../../plugins/public-id.ts';
import type { ConsoleParts } from '../../console-parts.ts';
import type { ExampleView } from '../../views-of-settings.ts';
import { optionsOf } from '../list-query.ts';

/** Adds the route. */
export function exampleInputRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/example', { onRequest }, async (request): Promise<ExampleView> => {
    const endpointId = endpointIdInPath(request);
    const { input, origin, jobId, isCut } = await core.endpoints.call(
      (client) => client.getExampleInput,
      { endpointId },
      optionsOf(request),
    );
    return { input, jobId, isCut, isGeneral: origin === ExampleInputOrigin.GENERAL };
  });
}
