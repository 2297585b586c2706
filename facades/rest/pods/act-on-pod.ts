/** POST /v1/pods/{podId}/start, /stop, /reset and /restart: no body, 200 with the pod as it is then. */
import type { PodServiceClient, StartPodRequest, StartPodResponse } from '@slipway/proto/gen/slipway/v1/pod_service';
import type { UnaryMethod } from '../../core-client/service-calls.ts';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import { readNothing } from '../read-json.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answer, errors, idOf } from '../rest-parts.ts';
import { PodPath } from './pod-query.ts';

/** All four methods take an id and return a pod. */
type Act = (client: PodServiceClient) => UnaryMethod<StartPodRequest, StartPodResponse>;

/** Starting and stopping are idempotent; restarting is not. */
const ACTS: readonly { name: string; operationId: string; summary: string; act: Act; repeatable: boolean }[] = [
  {
    name: 'start',
    operationId: 'StartPod',
    summary: 'Start a stopped pod again',
    act: (core) => core.startPod,
    repeatable: true,
  },
  {
    name: 'stop',
    operationId: 'StopPod',
    summary: 'Stop a pod and keep its files',
    act: (core) => core.stopPod,
    repeatable: true,
  },
  {
    name: 'reset',
    operationId: 'ResetPod',
    summary: 'Restart a pod with an empty disk',
    act: (core) => core.resetPod,
    repeatable: false,
  },
  {
    name: 'restart',
    operationId: 'RestartPod',
    summary: 'Restart a pod and keep its files',
    act: (core) => core.restartPod,
    repeatable: false,
  },
];

/** Adds the routes. */
export function actOnPod(app: RestApp, { core, gate }: RestParts): void {
  for (const { name, operationId, summary, act, repeatable } of ACTS) {
    const schema = {
      operationId,
      tags: ['pods'],
      summary,
      params: PodPath,
      response: { 200: answer<PodRecord>('Pod'), ...errors(404) },
    };
    app.post(`/v1/pods/:podId/${name}`, { schema, onRequest: gate, preValidation: readNothing }, async (request) => {
      const { apiKey, accountId } = request.caller;
      const id = idOf((request.params as { podId: string }).podId, 'pod');
      const { pod } = await core.pods.call(act, { id }, { apiKey, repeatable });
      return presentPod(pod, accountId);
    });
  }
}
