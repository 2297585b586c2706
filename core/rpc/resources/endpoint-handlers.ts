/** EndpointService: decode, call a use case, encode. */

import type { Endpoint as EndpointMessage } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndpointServiceServer } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { CreateEndpointRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Access } from '../../access/access.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import { seesEnvValues } from '../../domain/accounts/permission.ts';
import { mayWantId } from '../../domain/resources/wanted-id.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { createEndpoint } from '../../endpoints/create-endpoint.ts';
import type { EndpointContext } from '../../endpoints/endpoint-context.ts';
import type { EndpointView } from '../../endpoints/endpoints.ts';
import { deleteEndpoint, getEndpoint, listEndpoints, withTemplatesOf } from '../../endpoints/endpoints.ts';
import { explainEndpoint, listDecisions } from '../../endpoints/explain.ts';
import { standbyReasons } from '../../endpoints/standby-reasons.ts';
import { updateEndpoint } from '../../endpoints/update-endpoint.ts';
import { createOnce } from '../../resources/create-once.ts';
import { decisionToMessage, endpointExplanationToMessage, reasonFor, sightOf } from '../reports/explain-messages.ts';
import type { CallRate } from '../server/call-rate.ts';
import { creationOf } from '../server/creation.ts';
import { ownAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, logViewOf, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { changeFromMessage, endpointRequestFromMessage, endpointToMessage } from './endpoint-messages.ts';
import { exampleInputHandler } from './example-input-handler.ts';
import { jobTimesHandler } from './job-times-handler.ts';
import { loadHistoryHandler } from './load-history-handler.ts';
import { releaseHandlers } from './release-handlers.ts';
import { requestStatsHandler } from './request-stats-handler.ts';
import { whatIfToMessage } from './what-if-messages.ts';

/** Returns the handlers of the service. */
export function endpointHandlers(
  access: Access,
  context: EndpointContext & { rate: CallRate },
  lists: ListParts,
): EndpointServiceServer {
  const { logger } = lists;
  const { shown, changed } = endpointViews(context);
  return {
    ...jobTimesHandler(access, context, lists),
    ...loadHistoryHandler(access, context, lists),
    ...requestStatsHandler(access, context, lists),
    ...exampleInputHandler(access, context, lists),
    ...releaseHandlers(access, context, { logger, changed }),
    createEndpoint: unary(logger, async (request, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      const { accountId } = actor;
      mayWantId(actor.caller, request.wantedId);
      const made = await createOnce<EndpointView>(context, {
        ...creationOf('CreateEndpoint', CreateEndpointRequest, request),
        accountId,
        create: (key) => createEndpoint(context, actor, endpointRequestFromMessage(request), key),
        read: (id) => getEndpoint(context, accountId, id),
      });
      return { endpoint: await changed(made, actor.caller) };
    }),
    getEndpoint: unary(logger, async ({ id, includeTemplate = false }, apiKey) => {
      const { accountId, caller } = await access.check(apiKey, { api: 'MANAGEMENT', endpointId: id });
      const found = await getEndpoint(context, accountId, id);
      const [endpoint] = await shown(includeTemplate ? await withTemplatesOf(context, [found]) : [found], caller);
      return { endpoint };
    }),
    listEndpoints: listing(lists, async (request, apiKey, enter) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const page = pageRequestOf(request);
      await enter(accountId);
      const { entries, next } = await listEndpoints(
        context,
        accountId,
        caller.endpointIds,
        request.includeTemplate ?? false,
        page,
      );
      return { endpoints: await shown(entries, caller), nextPageToken: tokenOf(next, page) };
    }),
    updateEndpoint: unary(logger, async ({ endpoint, updateMask, ownTemplate }, apiKey) => {
      const actor = await access.check(apiKey, { api: 'MANAGEMENT', endpointId: endpoint?.id ?? '', write: true });
      if (!endpoint) throw invalid('endpoint is required');
      const change = changeFromMessage(endpoint, updateMask ?? [], ownTemplate);
      return {
        endpoint: await changed(
          await updateEndpoint(context, actor, endpoint.id, change, actor.caller.endpointIds),
          actor.caller,
        ),
      };
    }),
    ...explanationHandlers(access, context, lists),
    deleteEndpoint: unary(logger, async ({ id, stopWorkers = false }, apiKey) => {
      await deleteEndpoint(
        context,
        await access.check(apiKey, { api: 'MANAGEMENT', endpointId: id, write: true }),
        id,
        stopWorkers,
      );
      return {};
    }),
  };
}

/** Returns functions that present endpoints to a caller. */
function endpointViews(context: EndpointContext) {
  /** Presents endpoints with the reasons why workers cannot be placed. */
  const shown = async (endpoints: readonly EndpointView[], caller: Caller): Promise<EndpointMessage[]> => {
    const operator = caller.scope === 'ROOT';
    const ids = endpoints.map(({ id }) => id);
    const [throttled, nowhere, rollouts, standbys] = await Promise.all([
      context.scales.refusals(ids),
      context.cannotRun.of(ids),
      context.releases.rollouts(ids),
      standbyReasons(context, endpoints),
    ]);
    return endpoints.map((endpoint) =>
      endpointToMessage(
        endpoint,
        {
          throttledReason: reasonFor(throttled.get(endpoint.id), operator),
          cannotRunReason: reasonFor(nowhere.get(endpoint.id), operator),
          flashBootStandbyReason: reasonFor(standbys.get(endpoint.id), operator),
        },
        rollouts.get(endpoint.id),
        seesEnvValues(caller),
      ),
    );
  };
  /** Presents an endpoint after a change, with the reasons why no machine can run it or offload its workers. */
  const changed = async (endpoint: EndpointView, { scope }: Caller): Promise<EndpointMessage> => {
    const operator = scope === 'ROOT';
    const [nowhere, rollouts, standbys] = await Promise.all([
      context.cannotRun.of([endpoint.id]),
      context.releases.rollouts([endpoint.id]),
      standbyReasons(context, [endpoint]),
    ]);
    const reasons = {
      throttledReason: '',
      cannotRunReason: reasonFor(nowhere.get(endpoint.id), operator),
      flashBootStandbyReason: reasonFor(standbys.get(endpoint.id), operator),
    };
    return endpointToMessage(endpoint, reasons, rollouts.get(endpoint.id), true);
  };
  return { shown, changed };
}

/** Returns the handlers that explain an endpoint: its state, its decisions, and what other settings would have done. */
function explanationHandlers(
  access: Access,
  context: EndpointContext & { rate: CallRate },
  { logger }: ListParts,
): Pick<EndpointServiceServer, 'explain' | 'listDecisions' | 'whatIf'> {
  return {
    explain: unary(logger, async ({ endpointId }, apiKey) => {
      const { caller } = await access.check(apiKey, { api: 'JOBS', endpointId });
      context.rate.admit(caller.accountId);
      const sight = await sightOf(access, apiKey, endpointId, caller);
      return { explanation: endpointExplanationToMessage(await explainEndpoint(context, endpointId, sight)) };
    }),
    listDecisions: unary(logger, async ({ endpointId, pageSize, beforeId, view }, apiKey) => {
      await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
      return {
        decisions: (await listDecisions(context, endpointId, { pageSize, beforeId, ...logViewOf(view) })).map(
          decisionToMessage,
        ),
      };
    }),
    whatIf: unary(logger, async ({ endpoint, updateMask, hours }, apiKey) => {
      const { accountId } = await access.check(apiKey, { api: 'MANAGEMENT', endpointId: endpoint?.id ?? '' });
      if (!endpoint) throw invalid('endpoint is required');
      const change = updateMask?.length ? changeFromMessage(endpoint, updateMask).settings : {};
      return whatIfToMessage(await context.whatIfs.answer(accountId, endpoint.id, change, hours));
    }),
  };
}
