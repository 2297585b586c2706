/** Fields of pods over PodService. */
import type { GetPodResponse } from '@slipway/proto/gen/slipway/v1/pod_service';
import type { GraphqlContext, Resolver } from '../core-calls.ts';
import { callCore, orNull, updateCore } from '../core-calls.ts';
import type { PodInput, PodJobInput } from './pod-fields.ts';
import { newPod, podJobFields, podWishes } from './pod-fields.ts';
import { presentPod, presentPods } from './present-pod.ts';
import { listPods } from './read-pods.ts';

const SERVICE = 'PodService';

type Presented = ReturnType<typeof presentPod>;

async function call(context: GraphqlContext, method: string, request: object): Promise<Presented> {
  const { pod } = await callCore<GetPodResponse>(context, SERVICE, method, request);
  return presentPod(pod!, context.nowMs);
}

/** Returns a resolver for a call that only needs the pod's id. */
function byId(method: string): Resolver<{ input: { podId: string } }> {
  return (_root, { input }, context) => call(context, method, { id: input.podId });
}

function create(computeType: 'GPU' | 'CPU', interruptible: boolean): Resolver<{ input?: PodInput | null }> {
  return async (_root, { input }, context) => {
    const { volumeGb, ...pod } = newPod(input ?? {}, computeType);
    return call(context, 'CreatePod', {
      pod: { ...pod, interruptible },
      ...podWishes(input ?? {}),
      ...(volumeGb === undefined ? {} : { volumeGb }),
    });
  };
}

/** Part of Mesh's `additionalResolvers`. */
export const podResolvers = {
  Query: {
    pod: ((_root, { input }, context) =>
      orNull(call(context, 'GetPod', { id: input?.podId ?? '' }))) satisfies Resolver<{
      input?: { podId?: string | null } | null;
    }>,
  },
  User: {
    pods: (async (_root, _args, context) => presentPods(await listPods(context), context)) satisfies Resolver,
  },
  Mutation: {
    podFindAndDeployOnDemand: create('GPU', false),
    podRentInterruptable: create('GPU', true),
    deployCpuPod: create('CPU', false),
    podStop: byId('StopPod'),
    podResume: byId('StartPod'),
    podBidResume: byId('StartPod'),
    podReset: byId('ResetPod'),
    podRestart: byId('RestartPod'),
    podEditJob: (async (_root, { input: { podId, ...job } }, context) => {
      const { pod } = await updateCore<GetPodResponse>(context, [SERVICE, 'Pod', 'pod'], podId, podJobFields(job));
      return presentPod(pod!, context.nowMs);
    }) satisfies Resolver<{ input: PodJobInput & { podId: string } }>,
    podTerminate: (async (_root, { input }, context) => {
      await callCore(context, SERVICE, 'DeletePod', { id: input.podId });
      return null;
    }) satisfies Resolver<{ input: { podId: string } }>,
  },
};
