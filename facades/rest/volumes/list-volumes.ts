/** GET /v1/networkvolumes: a bare array, oldest first (docs/management.md#lists). */
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { presentVolume } from '../../resources/volumes/present-volume.ts';
import { sendList } from '../send-list.ts';
import type { NetworkVolumeRecord } from '../../resources/volumes/volume-schemas.ts';

/** Adds the route. */
export function listVolumes(app: RestApp, { core, room, gate }: RestParts): void {
  const schema = {
    operationId: 'ListNetworkVolumes', tags: ['network volumes'], summary: 'List network volumes',
    response: { 200: answers<NetworkVolumeRecord>('NetworkVolume'), ...errors() },
  };
  app.get('/v1/networkvolumes', { schema, onRequest: gate }, (request, reply) => sendList(room, request, reply, {
    read: (page) => core.volumes.call((client) => client.listNetworkVolumes, page, { apiKey: request.caller.apiKey, repeatable: true }),
    present: ({ networkVolumes }) => networkVolumes.map(presentVolume),
  }));
}
