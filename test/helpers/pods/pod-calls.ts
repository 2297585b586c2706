/** Pods for tests, over gRPC. */
import { Pod, PodState } from '@slipway/proto/gen/slipway/v1/pod';
import type { GrpcClients } from '../grpc/grpc-clients.ts';
import { call } from '../grpc/grpc-clients.ts';
import { waitFor } from '../time/wait-for.ts';

/** Calls of PodService for the owner of a key. */
export function podCalls(clients: Pick<GrpcClients, 'pods'>, owner: string) {
  const { pods } = clients;
  const get = async (id: string, key = owner): Promise<Pod> => (await call(pods, 'getPod', { id }, key)).pod!;
  return {
    get,
    create: async (fields: Partial<Pod>, key = owner): Promise<Pod> =>
      (await call(pods, 'createPod', { pod: Pod.fromPartial(fields) }, key)).pod!,
    list: async (request: { includeWorkers?: boolean; endpointId?: string } = {}, key = owner): Promise<Pod[]> =>
      (await call(pods, 'listPods', { includeWorkers: false, endpointId: '', endpointIds: [], ...request }, key)).pods,
    act: async (verb: 'startPod' | 'stopPod' | 'resetPod' | 'restartPod', id: string, key = owner): Promise<Pod> =>
      (await call(pods, verb, { id }, key)).pod!,
    update: async (id: string, fields: Partial<Pod>): Promise<Pod> =>
      (
        await call(
          pods,
          'updatePod',
          {
            pod: Pod.fromPartial({ ...fields, id }),
            updateMask: Object.keys(fields).map((name) =>
              name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
            ),
          },
          owner,
        )
      ).pod!,
    remove: (id: string, key = owner) => call(pods, 'deletePod', { id }, key),
    log: async (id: string, key = owner): Promise<string> =>
      String((await call(pods, 'getPodLog', { id, tailBytes: 0 }, key)).log),
    /** Waits until a pod is seen in a state. */
    reach: (id: string, state: keyof typeof PodState): Promise<Pod> =>
      waitFor(`the pod to be ${state}`, async () => {
        const pod = await get(id);
        return pod.state === PodState[state] && pod;
      }),
  };
}
