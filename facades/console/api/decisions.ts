/**
 * Decisions of an endpoint's scaler: older ones than its page shows first, and ones that match a
 * search.
 */

import type { ScaleDecision } from '@slipway/proto/gen/slipway/v1/explanation';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { DecisionView } from '../views.ts';
import { DECISIONS_PAGE } from '../views.ts';
import type { PageQuery } from './list-query.ts';
import { optionsOf, pageAsked, textOf } from './list-query.ts';

/**
 * Adds the route. Query: `before`, the id of the last decision that is shown, or 0, and list-query.ts without an order.
 */
export function decisionRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/decisions', { onRequest }, async (request) => {
    const endpointId = endpointIdInPath(request);
    const before = textOf(request, 'before');
    if (!/^\d{1,15}$/.test(before)) throw new CoreError('INVALID_REQUEST', '"before" must be the id of a decision.');
    return listDecisions(
      core,
      { endpointId, beforeId: Number(before), view: pageAsked(request).view },
      optionsOf(request),
    );
  });
}

/** Returns the feed of the latest decisions that match a search. */
export function decisionsPage(
  { core }: ConsoleParts,
  apiKey: string,
  endpointId: string,
  view: PageQuery['view'],
): FeedSource {
  return {
    read: (signal) => listDecisions(core, { endpointId, beforeId: 0, view }, { apiKey, repeatable: true, signal }),
  };
}

async function listDecisions(
  core: CoreClient,
  asked: { endpointId: string; beforeId: number; view: PageQuery['view'] },
  options: CallOptions,
): Promise<readonly DecisionView[]> {
  const { decisions } = await core.endpoints.call(
    (client) => client.listDecisions,
    { ...asked, pageSize: DECISIONS_PAGE },
    options,
  );
  return decisions.map(decisionView);
}

/** Converts a decision for the page. */
export function decisionView({ decideTime, limits, actions, ...decision }: ScaleDecision): DecisionView {
  const { id, target, wished, throttled, present, queued, running, oldestWaitMs, reason } = decision;
  return {
    id,
    target,
    wished,
    throttled,
    present,
    queued,
    running,
    oldestWaitMs,
    reason,
    atMs: decideTime?.getTime() ?? 0,
    limits: limits.map(({ text }) => text),
    actions: actions.map(({ kind, workerId }) => (workerId === '' ? kind : `${kind} ${workerId}`)),
  };
}
