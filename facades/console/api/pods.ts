/** Pods: the list, one that is looked at, and what pods and workers wrote last. */
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { PodState } from '../../../proto/gen/slipway/v1/pod.ts';
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { isId } from '../../plugins/authenticate.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { ListView } from '../views.ts';
import type { LogTailView, PodView } from '../views-of-pods.ts';
import { optionsOf, pageAsked } from './list-query.ts';

/** Of a log that is shown, in bytes from its end. */
const TAIL_BYTES = 64 * 1024;

/** The feed of a pod. */
export function podPage({ core, clock }: ConsoleParts, apiKey: string, id: string): FeedSource {
  const read = async (signal: AbortSignal): Promise<PodView> => {
    const { pod } = await core.pods.call((client) => client.getPod, { id }, { apiKey, repeatable: true, signal });
    if (!pod) throw new CoreError('INTERNAL', 'core answered without a pod');
    return podView(pod, clock.nowMs());
  };
  return { read };
}

/** Adds the routes: the list, and the end of a pod's or worker's log. */
export function podRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/pods', { onRequest }, async (request): Promise<ListView> => {
    const asked = { ...pageAsked(request), includeWorkers: false, endpointId: '', endpointIds: [] };
    const { pods, nextPageToken } = await core.pods.call((client) => client.listPods, asked, optionsOf(request));
    return { rows: pods.map((pod) => podRow(pod, request.caller.accountId)), next: nextPageToken };
  });
  app.get('/console/api/pods/:id/log', { onRequest }, async (request): Promise<LogTailView> => {
    const { log } = await core.pods.call((client) => client.getPodLog, { id: idOf(request), tailBytes: TAIL_BYTES }, optionsOf(request));
    return tailView(log);
  });
  app.get('/console/api/workers/:id/log', { onRequest }, async (request): Promise<LogTailView> => {
    const asked = { workerId: idOf(request), tailBytes: TAIL_BYTES };
    const { log } = await core.machines.call((client) => client.getWorkerLog, asked, optionsOf(request));
    return tailView(log);
  });
}

function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (!isId(id)) throw new CoreError('NOT_FOUND', 'There is no such log.');
  return id;
}

/** Whole lines, unless one is all that there is. */
function tailView(log: Uint8Array): LogTailView {
  const text = new TextDecoder().decode(log);
  const isCut = log.length >= TAIL_BYTES;
  return { text: isCut ? text.slice(text.indexOf('\n') + 1) : text, isCut };
}

function podRow(pod: Pod, accountId: string) {
  const { id, name, desiredStatus, image, machineId, costPerHr, lastStatusChange } = presentPod(pod, accountId);
  return { id, name: name ?? '', state: wordOf(pod.state), desiredStatus, image, gpuCount: pod.gpuCount, machineId, costPerHr, lastStatusChange };
}

function podView(pod: Pod, nowMs: number): PodView {
  const { id, name, state, statusText, imageName, startCommand, machine, gpuTypeId, gpuUuids, ports, volumeMountPath, networkVolumeId, costPerHour } = pod;
  return {
    nowMs, id, name, state: wordOf(state), desiredStatus: presentPod(pod, '').desiredStatus, statusText, sinceMs: pod.stateChangeTime?.getTime() ?? 0,
    image: imageName, command: startCommand, machineId: machine?.id ?? '', gpuTypeId, gpus: gpuUuids, ports, volumeMountPath, networkVolumeId, costPerHour,
  };
}

function wordOf(state: PodState): string {
  return Object.entries(PodState).find(([, value]) => value === state)?.[0] ?? '';
}
