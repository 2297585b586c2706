/** Calls of PodService that several fields share. */
import type { EndedWorkers } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { ListPodsResponse } from '@slipway/proto/gen/slipway/v1/pod_service';
import type { GraphqlContext } from '../core-calls.ts';
import { callCore, listCore, once } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';

type CorePod = CoreMessage<Pod>;

function list(context: GraphqlContext, request: object): Promise<CorePod[]> {
  return listCore<Pod>(context, ['PodService', 'ListPods', 'pods'], request);
}

/** Returns the pods of the account, oldest first, without the workers of endpoints, read once for an operation. */
export function listPods(context: GraphqlContext): Promise<CorePod[]> {
  return once(context, 'pods', () => list(context, {}));
}

/** Returns the workers of one endpoint, read once for an operation. */
export function readWorkers(endpointId: string, context: GraphqlContext): Promise<CorePod[]> {
  return once(context, `workers of ${endpointId}`, () => list(context, { endpointId }));
}

/** Lists all pods and workers of the account, once per operation. */
export function listPodsAndWorkers(context: GraphqlContext): Promise<CorePod[]> {
  return once(context, 'pods and workers', () => list(context, { includeWorkers: true }));
}

/** Returns the workers of all endpoints by the endpoint's id, read once per operation. */
export function workersByEndpoint(context: GraphqlContext): Promise<ReadonlyMap<string, CorePod[]>> {
  return once(context, 'workers by endpoint', async () => {
    const workers = (await listPodsAndWorkers(context)).filter((pod) => pod.endpointId);
    return Map.groupBy(workers, (worker) => worker.endpointId!);
  });
}

/**
 * Returns groups of an endpoint's workers that ended by themselves. `listed`: the endpoint is an entry of a list, so
 * the groups of all its entries are read at once.
 */
export async function readEnded(
  { id, listed }: { id: string; listed: boolean },
  context: GraphqlContext,
): Promise<CoreMessage<EndedWorkers>[]> {
  if (!listed) return ended(context, { endpointId: id });
  return (await once(context, 'ended workers', () => ended(context, { includeWorkers: true }))).filter(
    (group) => group.endpointId === id,
  );
}

/** Reads groups of ended workers. They come with the first page, whose pods are not used. */
async function ended(context: GraphqlContext, which: object): Promise<CoreMessage<EndedWorkers>[]> {
  return (
    (await callCore<ListPodsResponse>(context, 'PodService', 'ListPods', { ...which, pageSize: 1 })).endedWorkers ?? []
  );
}
