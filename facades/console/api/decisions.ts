/** What the scaler of an endpoint decided, before what its page begins with, and of all of it what one looks for. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { ScaleDecision } from '../../../proto/gen/slipway/v1/explanation.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { isId } from '../../plugins/authenticate.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { DECISIONS_PAGE } from '../views.ts';
import type { DecisionView } from '../views.ts';
import { optionsOf, pageAsked, textOf } from './list-query.ts';

/** Adds the route. Query: `before`, the id of the last one that is shown, or 0, and list-query.ts without an order. */
export function decisionRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/endpoints/:id/decisions', { onRequest }, async (request): Promise<readonly DecisionView[]> => {
    const { id: endpointId } = request.params as { id: string };
    if (!isId(endpointId)) throw new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.');
    const before = textOf(request, 'before');
    if (!/^\d{1,15}$/.test(before)) throw new CoreError('INVALID_REQUEST', '"before" must be the id of a decision.');
    const { view } = pageAsked(request);
    const asked = { endpointId, pageSize: DECISIONS_PAGE, beforeId: Number(before), view };
    const { decisions } = await core.endpoints.call((client) => client.listDecisions, asked, optionsOf(request));
    return decisions.map(decisionView);
  });
}

/** For the page. */
export function decisionView({ decideTime, limits, actions, ...decision }: ScaleDecision): DecisionView {
  const { id, target, wished, throttled, present, queued, running, oldestWaitMs, reason } = decision;
  return {
    id, target, wished, throttled, present, queued, running, oldestWaitMs, reason, atMs: decideTime?.getTime() ?? 0,
    limits: limits.map(({ text }) => text), actions: actions.map(({ kind, workerId }) => (workerId === '' ? kind : `${kind} ${workerId}`)),
  };
}
