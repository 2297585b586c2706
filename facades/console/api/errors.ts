/** Error groups of an endpoint's failed jobs. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { ErrorsView } from '../views-of-errors.ts';
import { optionsOf, textOf } from './list-query.ts';

/** Adds the route. Query: `minutes`, how far back jobs may have ended. */
export function errorRoutes(
  app: FastifyInstance,
  { core, clock }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/errors', { onRequest }, async (request): Promise<ErrorsView> => {
    const endpointId = endpointIdInPath(request);
    const minutes = textOf(request, 'minutes');
    if (!/^([1-9]\d{0,4})?$/.test(minutes))
      throw new CoreError('INVALID_REQUEST', '"minutes" must be a whole number of them.');
    const asked = { endpointId, spanMs: Number(minutes) * 60_000, groupId: '' };
    const { groups, groupCount, jobs, more } = await core.jobs.call(
      (client) => client.listErrors,
      asked,
      optionsOf(request),
    );
    return {
      nowMs: clock.nowMs(),
      groupCount,
      jobs,
      hasMore: more,
      groups: groups.map(({ firstTime, lastTime, ...group }) => ({
        ...group,
        firstMs: firstTime?.getTime() ?? 0,
        lastMs: lastTime?.getTime() ?? 0,
      })),
    };
  });
}
