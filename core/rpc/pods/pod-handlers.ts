/** PodService: decode, call a use case, encode. */
import type { handleUnaryCall, Metadata } from '@grpc/grpc-js';
import type { PodServiceServer } from '@slipway/proto/gen/slipway/v1/pod_service';
import { CreatePodRequest } from '@slipway/proto/gen/slipway/v1/pod_service';
import type { Access } from '../../access/access.ts';
import { seesEnvValues } from '../../domain/accounts/permission.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { createPod } from '../../pods/create-pod.ts';
import { listEnded, listPods } from '../../pods/list-pods.ts';
import type { PodContext } from '../../pods/pod-context.ts';
import { deletePod, getPod, resetPod, restartPod, startPod, stopPod } from '../../pods/pods.ts';
import { updatePod } from '../../pods/update-pod.ts';
import { createOnce } from '../../resources/create-once.ts';
import type { LogParts } from '../jobs/read-log.ts';
import { linesOf, readLog, tailBytesOf } from '../jobs/read-log.ts';
import { endedToMessage } from '../machines/machine-messages.ts';
import { creationOf } from '../server/creation.ts';
import { ownAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { podRequestFromMessage, podToMessage, podUpdateFromMessage } from './pod-messages.ts';

/** Returns the handlers of the service. */
export function podHandlers(
  access: Access,
  context: PodContext,
  logParts: LogParts,
  lists: ListParts,
): PodServiceServer {
  const { logger } = lists;
  type Verb = typeof startPod;
  /** Handles a call that changes a pod, and returns the pod. */
  const changing = (verb: Verb) =>
    unary(logger, async ({ id }: { id: string }, apiKey) => ({
      pod: podToMessage(await verb(context, await ownAccount(access, apiKey, true), id), true),
    }));
  return {
    createPod: unary(logger, async (request, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      const { accountId } = actor;
      const { podRequest, fields } = podRequestFromMessage(request);
      const { startSsh, startJupyter, stopped, minCpuCount, minMemoryGb } = request;
      const wishes = { startSsh, startJupyter, stopped, minCpuCount, minMemoryGb };
      const made = await createOnce(context, {
        ...creationOf('CreatePod', CreatePodRequest, request),
        accountId,
        create: (key) => createPod(context, actor, podRequest, { fields, ...wishes, key }),
        read: (id) => getPod(context, accountId, id, []),
      });
      return { pod: podToMessage(made, true) };
    }),
    getPod: unary(logger, async ({ id }, apiKey) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const pod = await getPod(context, accountId, id, caller.endpointIds);
      return { pod: podToMessage(pod, seesEnvValues(caller)) };
    }),
    listPods: listing(lists, async (request, apiKey, enter) => {
      const { endpointId } = request;
      const { accountId, caller } =
        endpointId === ''
          ? await ownAccount(access, apiKey, false)
          : await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
      const page = pageRequestOf(request);
      await enter(accountId);
      const endpointIds = endpointId === '' ? request.endpointIds : [endpointId];
      const selection = { ...request, endpointIds };
      const { entries, next } = await listPods(context, accountId, selection, caller.endpointIds, page);
      const ended = page.after === undefined ? await listEnded(context, accountId, selection, caller.endpointIds) : [];
      return {
        pods: entries.map((pod) => podToMessage(pod, seesEnvValues(caller))),
        endedWorkers: ended.map(endedToMessage),
        nextPageToken: tokenOf(next, page),
      };
    }),
    updatePod: unary(logger, async ({ pod, updateMask }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      if (!pod) throw invalid('pod is required');
      const fields = updateMask ?? [];
      return {
        pod: podToMessage(await updatePod(context, actor, pod.id, podUpdateFromMessage(pod, fields), fields), true),
      };
    }),
    startPod: changing(startPod),
    stopPod: changing(stopPod),
    resetPod: changing(resetPod),
    restartPod: changing(restartPod),
    deletePod: unary(logger, async ({ id }, apiKey) => {
      await deletePod(context, await ownAccount(access, apiKey, true), id);
      return {};
    }),
    getPodLog: unary(logger, podLogHandler(access, context, logParts)),
  };
}

type Handler<Method extends keyof PodServiceServer> =
  PodServiceServer[Method] extends handleUnaryCall<infer Request, infer Response>
    ? (request: Request, apiKey: string, metadata: Metadata) => Promise<Response>
    : never;

/** Reads the log of a pod, or of a worker. */
function podLogHandler(access: Access, context: PodContext, logParts: LogParts): Handler<'getPodLog'> {
  return async (request, apiKey, metadata) => {
    const { accountId, caller } = await ownAccount(access, apiKey, false);
    const { place } = request;
    const tailBytes = tailBytesOf(request.tailBytes);
    if (place && (place.jobId !== '' || place.attempt !== 0))
      throw invalid('place must not name a job or an attempt: a pod has none');
    const job = place && { ...place, limit: linesOf(place.limit) };
    const { id, machineId, endpointId } = await getPod(context, accountId, request.id, caller.endpointIds);
    const kind = endpointId === '' ? 'pod' : 'worker';
    const { log, job: page } = await readLog(
      logParts,
      { kind, id, machineId, accountId, tailBytes, job },
      apiKey,
      metadata,
    );
    return { log, page };
  };
}
