/** Calls of PodService that several fields share. */
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { listCore, once } from '../core-calls.ts';
import type { GraphqlContext } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';

type CorePod = CoreMessage<Pod>;

function list(context: GraphqlContext, request: object): Promise<CorePod[]> {
  return listCore<Pod>(context, ['PodService', 'ListPods', 'pods'], request);
}

/** Pods of the account, oldest first, without the workers of endpoints, read once for an operation. */
export function listPods(context: GraphqlContext): Promise<CorePod[]> {
  return once(context, 'pods', () => list(context, {}));
}

/** Workers of one endpoint, read once for an operation. */
export function readWorkers(endpointId: string, context: GraphqlContext): Promise<CorePod[]> {
  return once(context, `workers of ${endpointId}`, () => list(context, { endpointId }));
}

/** Everything of the account that runs, read once for an operation. */
export function listPodsAndWorkers(context: GraphqlContext): Promise<CorePod[]> {
  return once(context, 'pods and workers', () => list(context, { includeWorkers: true }));
}

/** Workers of all endpoints by the endpoint's id, read once for an operation. */
export function workersByEndpoint(context: GraphqlContext): Promise<ReadonlyMap<string, CorePod[]>> {
  return once(context, 'workers by endpoint', async () => {
    const workers = (await listPodsAndWorkers(context)).filter((pod) => pod.endpointId);
    return Map.groupBy(workers, (worker) => worker.endpointId!);
  });
}
