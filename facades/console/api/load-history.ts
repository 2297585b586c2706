/** Load of an endpoint over hours, for the chart of its scaling. */
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { isId } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { Sample } from '../views.ts';
import { readHistory } from './counter-history.ts';
import { minutesOf, optionsOf } from './list-query.ts';

/** Adds the route. Query: `minutes`, how far back. */
export function loadHistoryRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/history', { onRequest }, async (request): Promise<readonly Sample[]> => {
    const { id } = request.params as { id: string };
    if (!isId(id)) throw new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.');
    return readHistory(core, id, minutesOf(request) * 60_000, optionsOf(request));
  });
}
