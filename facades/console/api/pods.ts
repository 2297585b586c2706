/** Pods: the list, a single pod, and the last log lines of pods and workers. */

import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { ListView } from '../views.ts';
import type { LogTailView, PodView } from '../views-of-pods.ts';
import type { PageQuery } from './list-query.ts';
import { optionsOf, pageAsked } from './list-query.ts';

/** Bytes at the end of a log that are shown. */
const TAIL_BYTES = 64 * 1024;
/** Pause between two reads of a log, in milliseconds. */
const LOG_PACE_MS = 2_000;

/** Returns the feed of a page of the list. */
export function podsPage({ core }: ConsoleParts, apiKey: string, accountId: string, page: PageQuery): FeedSource {
  return { read: (signal) => listPods(core, page, accountId, { apiKey, repeatable: true, signal }) };
}

/** Returns the feed of a pod. */
export function podPage({ core, clock }: ConsoleParts, apiKey: string, id: string): FeedSource {
  const read = async (signal: AbortSignal): Promise<PodView> => {
    const { pod } = await core.pods.call((client) => client.getPod, { id }, { apiKey, repeatable: true, signal });
    if (!pod) throw new CoreError('INTERNAL', 'core answered without a pod');
    return podView(pod, clock.nowMs());
  };
  return { read };
}

/** Returns the feed of the end of a pod's log. */
export function podLog({ core }: ConsoleParts, apiKey: string, id: string): FeedSource {
  return tailOf(
    async (signal) =>
      (
        await core.pods.call(
          (client) => client.getPodLog,
          { id, tailBytes: TAIL_BYTES },
          { apiKey, repeatable: true, signal },
        )
      ).log,
  );
}

/** Returns the feed of the end of a worker's log. */
export function workerLog({ core }: ConsoleParts, apiKey: string, id: string): FeedSource {
  return tailOf(
    async (signal) =>
      (
        await core.machines.call(
          (client) => client.getWorkerLog,
          { workerId: id, tailBytes: TAIL_BYTES },
          { apiKey, repeatable: true, signal },
        )
      ).log,
  );
}

/** Sends a log only if it has changed. Each read goes to the machine that has the log. */
function tailOf(readLog: (signal: AbortSignal) => Promise<Uint8Array>): FeedSource {
  let sent: Buffer | undefined;
  const read = async (signal: AbortSignal): Promise<LogTailView | undefined> => {
    const log = Buffer.from(await readLog(signal));
    if (sent?.equals(log)) return undefined;
    sent = log;
    return tailView(log);
  };
  return { read, paceMs: LOG_PACE_MS };
}

/** Adds the route that returns the current list once. */
export function podRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/pods', { onRequest }, (request) =>
    listPods(core, pageAsked(request), request.caller.accountId, optionsOf(request)),
  );
}

async function listPods(core: CoreClient, page: PageQuery, accountId: string, options: CallOptions): Promise<ListView> {
  const asked = { ...page, includeWorkers: false, endpointId: '', endpointIds: [] };
  const { pods, nextPageToken } = await core.pods.call((client) => client.listPods, asked, options);
  return { rows: pods.map((pod) => podRow(pod, accountId)), next: nextPageToken };
}

/** Returns the tail of a log. A cut first line is left out, unless there is no other. */
function tailView(log: Uint8Array): LogTailView {
  const text = new TextDecoder().decode(log);
  const isCut = log.length >= TAIL_BYTES;
  return { text: isCut ? text.slice(text.indexOf('\n') + 1) : text, isCut };
}

function podRow(pod: Pod, accountId: string) {
  const { id, name, desiredStatus, image, machineId, costPerHr, lastStatusChange } = presentPod(pod, accountId);
  return {
    id,
    name: name ?? '',
    state: enumName(PodState, pod.state),
    desiredStatus,
    image,
    gpuCount: pod.gpuCount,
    machineId,
    costPerHr,
    lastStatusChange,
  };
}

function podView(pod: Pod, nowMs: number): PodView {
  const {
    id,
    name,
    state,
    statusText,
    imageName,
    startCommand,
    machine,
    gpuTypeId,
    gpuUuids,
    ports,
    volumeMountPath,
    networkVolumeId,
    costPerHour,
  } = pod;
  return {
    nowMs,
    id,
    name,
    state: enumName(PodState, state),
    desiredStatus: presentPod(pod, '').desiredStatus,
    statusText,
    sinceMs: pod.stateChangeTime?.getTime() ?? 0,
    image: imageName,
    command: startCommand,
    machineId: machine?.id ?? '',
    gpuTypeId,
    gpus: gpuUuids,
    ports,
    volumeMountPath,
    networkVolumeId,
    costPerHour,
  };
}
