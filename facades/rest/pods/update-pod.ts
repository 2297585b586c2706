/**
 * PATCH /v1/pods/{podId} and POST …/update. Absent members stay unchanged. Any change other than of `name` and `locked`
 * resets the pod.
 */
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { changed, errors, idOf, ref } from '../rest-parts.ts';
import { podFields } from './pod-fields.ts';
import type { PodUpdateInput } from './pod-inputs.ts';
import { PodPath } from './pod-query.ts';

/** Adds both routes. */
export function updatePod(app: RestApp, { core, gate, readJson }: RestParts): void {
  for (const { method, url, operationId } of FORMS) {
    const schema = {
      operationId,
      tags: ['pods'],
      summary: 'Change a pod',
      params: PodPath,
      body: ref<PodUpdateInput>('PodUpdateInput'),
      response: { 200: changed<PodRecord>('Pod'), ...errors(404) },
    };
    app.route({
      method,
      url,
      schema,
      onRequest: gate,
      preValidation: readJson,
      handler: async (request) => {
        const { apiKey, accountId } = request.caller;
        const id = idOf(request.params.podId, 'pod');
        const { changes, mask } = podFields(request.body);
        // An empty change is no error: the pod is returned unchanged. A change is not repeated, because it resets the
        // pod.
        const { pod } =
          mask.length === 0
            ? await core.pods.call((client) => client.getPod, { id }, { apiKey, repeatable: true })
            : await core.pods.call(
                (client) => client.updatePod,
                { pod: Pod.fromPartial({ ...changes, id }), updateMask: mask },
                { apiKey, repeatable: false },
              );
        return presentPod(pod, accountId);
      },
    });
  }
}

const FORMS = [
  { method: 'PATCH', url: '/v1/pods/:podId', operationId: 'UpdatePod' },
  { method: 'POST', url: '/v1/pods/:podId/update', operationId: 'UpdatePodByPost' },
] as const;
