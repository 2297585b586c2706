/** POST /v1/pods: 201 (docs/management.md#pods). */
import { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { changed, errors, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { newPodFields } from './pod-fields.ts';
import type { PodCreateInput } from './pod-inputs.ts';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';

/** Adds the route. */
export function createPod(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreatePod', tags: ['pods'], summary: 'Create a pod and start it',
    body: ref<PodCreateInput>('PodCreateInput'),
    response: { 201: changed<PodRecord>('Pod'), ...errors() },
  };
  app.post('/v1/pods', { schema, onRequest: gate, preValidation: readJson }, async (request, reply) => {
    const { apiKey, accountId } = request.caller;
    const pod = Pod.fromPartial(newPodFields(request.body));
    // Not repeatable: a second try could make a second pod.
    const response = await core.pods.call((client) => client.createPod, { pod, volumeGb: request.body.volumeInGb ?? undefined }, { apiKey, repeatable: false });
    return reply.code(201).send(presentPod(response.pod, accountId));
  });
}
