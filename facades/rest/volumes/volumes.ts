/**
 * Network volumes (docs/reference/management.md#network-volumes): made, listed, read, deleted. Changes:
 * update-volume.ts.
 */

import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { Type } from 'typebox';
import { creationCall } from '../../plugins/idempotency-key.ts';
import { restChanges } from '../../resources/rest-values.ts';
import { presentVolume } from '../../resources/volumes/present-volume.ts';
import type { NetworkVolumeCreateInput, NetworkVolumeRecord } from '../../resources/volumes/volume-schemas.ts';
import { NetworkVolumePath } from '../../resources/volumes/volume-schemas.ts';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answer, answers, changed, errors, idOf, ref } from '../rest-parts.ts';
import { sendList } from '../send-list.ts';

/** POST /v1/networkvolumes (docs/reference/management.md#network-volumes). */
export function createVolume(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateNetworkVolume',
    tags: ['network volumes'],
    summary: 'Create a network volume',
    body: ref<NetworkVolumeCreateInput>('NetworkVolumeCreateInput'),
    response: { 200: changed<NetworkVolumeRecord>('NetworkVolume'), ...errors() },
  };
  app.post('/v1/networkvolumes', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const networkVolume = NetworkVolume.fromPartial(restChanges<NetworkVolume>(VOLUME, request.body).changes);
    const { requestId, options } = creationCall(request);
    const response = await core.volumes.call(
      (client) => client.createNetworkVolume,
      { networkVolume, requestId },
      options,
    );
    return presentVolume(response.networkVolume);
  });
}

/** GET /v1/networkvolumes: a bare array, oldest first (docs/reference/management.md#lists). */
export function listVolumes(app: RestApp, { core, budget, gate }: RestParts): void {
  const schema = {
    operationId: 'ListNetworkVolumes',
    tags: ['network volumes'],
    summary: 'List network volumes',
    response: { 200: answers<NetworkVolumeRecord>('NetworkVolume'), ...errors() },
  };
  app.get('/v1/networkvolumes', { schema, onRequest: gate }, (request, reply) =>
    sendList(budget, request, reply, {
      read: (page, options) => core.volumes.call((client) => client.listNetworkVolumes, page, options),
      present: ({ networkVolumes }) => networkVolumes.map(presentVolume),
    }),
  );
}

/** GET /v1/networkvolumes/{networkVolumeId}. */
export function getVolume(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetNetworkVolume',
    tags: ['network volumes'],
    summary: 'Read a network volume',
    params: NetworkVolumePath,
    response: { 200: answer<NetworkVolumeRecord>('NetworkVolume'), ...errors(404) },
  };
  app.get('/v1/networkvolumes/:networkVolumeId', { schema, onRequest: gate }, async (request) => {
    const id = idOf(request.params.networkVolumeId, 'network volume');
    const options = { apiKey: request.caller.apiKey, repeatable: true };
    const response = await core.volumes.call((client) => client.getNetworkVolume, { id }, options);
    return presentVolume(response.networkVolume);
  });
}

/** DELETE /v1/networkvolumes/{networkVolumeId}: 204; 400 while an endpoint or a pod uses it. */
export function deleteVolume(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteNetworkVolume',
    tags: ['network volumes'],
    summary: 'Delete a network volume that nothing uses',
    params: NetworkVolumePath,
    response: { 204: Type.Null({ description: 'It was deleted.' }), ...errors(404) },
  };
  app.delete('/v1/networkvolumes/:networkVolumeId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.networkVolumeId, 'network volume');
    await core.volumes.call(
      (client) => client.deleteNetworkVolume,
      { id },
      { apiKey: request.caller.apiKey, repeatable: false },
    );
    return reply.code(204).send(null);
  });
}
