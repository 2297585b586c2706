/**
 * PATCH /v1/pods/{podId} and POST …/update. Absent members stay unchanged. Any change other than of `name` and `locked`
 * resets the pod.
 */
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { updateRoutes } from '../update-routes.ts';
import { podFields } from './pod-fields.ts';
import type { PodUpdateInput } from './pod-inputs.ts';
import { PodPath } from './pod-query.ts';

/** Adds both routes. */
export function updatePod(app: RestApp, parts: RestParts): void {
  const { pods } = parts.core;
  updateRoutes<PodUpdateInput, PodRecord>(app, parts, {
    shape: 'Pod',
    thing: 'pod',
    collection: '/v1/pods',
    idName: 'podId',
    params: PodPath,
    update: async (id, input, { apiKey, accountId }) => {
      const { changes, mask } = podFields(input);
      const update = { pod: Pod.fromPartial({ ...changes, id }), updateMask: mask };
      // A change is not repeated, because it resets the pod.
      const { pod } =
        mask.length === 0
          ? await pods.call((client) => client.getPod, { id }, { apiKey, repeatable: true })
          : await pods.call((client) => client.updatePod, update, { apiKey, repeatable: false });
      return presentPod(pod, accountId);
    },
  });
}
