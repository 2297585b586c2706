/** Handlers of EndpointService for releases: restart, rollback, and the list of changes. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Endpoint as EndpointMessage } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndpointServiceServer, Release as ReleaseMessage } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Access } from '../../access/access.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import type { EndpointContext } from '../../endpoints/endpoint-context.ts';
import type { EndpointView } from '../../endpoints/endpoints.ts';
import { restartEndpoint } from '../../endpoints/endpoints.ts';
import { listReleases } from '../../endpoints/explain.ts';
import { rollBackEndpoint } from '../../endpoints/roll-back.ts';
import type { Release } from '../../store/resources/release-store.ts';
import { unary } from '../server/unary.ts';
import { valuesToMessage } from './release-values-message.ts';

/** Returns the handlers of the service. `changed`: presents an endpoint after a change. */
export function releaseHandlers(
  access: Access,
  context: EndpointContext,
  {
    logger,
    changed,
  }: { logger: Logger; changed: (endpoint: EndpointView, caller: Caller) => Promise<EndpointMessage> },
): Pick<EndpointServiceServer, 'restartEndpoint' | 'rollBackEndpoint' | 'listReleases'> {
  return {
    restartEndpoint: unary(logger, async ({ id, atOnce = false }, apiKey) => {
      const actor = await access.check(apiKey, { api: 'MANAGEMENT', endpointId: id, write: true });
      return { endpoint: await changed(await restartEndpoint(context, actor, id, atOnce), actor.caller) };
    }),
    rollBackEndpoint: unary(logger, async ({ id, version }, apiKey) => {
      const actor = await access.check(apiKey, { api: 'MANAGEMENT', endpointId: id, write: true });
      return { endpoint: await changed(await rollBackEndpoint(context, actor, id, version), actor.caller) };
    }),
    listReleases: unary(logger, async ({ endpointId, pageSize, beforeId }, apiKey) => {
      await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
      return { releases: (await listReleases(context.releases, endpointId, pageSize, beforeId)).map(releaseToMessage) };
    }),
  };
}

function releaseToMessage({ at, endpointId: _of, values, ...release }: Release): ReleaseMessage {
  return { ...release, values: valuesToMessage(values), time: at };
}
