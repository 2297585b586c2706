// test: postgres
/** Creations with a request_id: one resource for a key and a body, until the key expires. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const core = await startReplicas(t, 2);
const all = core.replicas.map(({ address }) => grpcClients(address));
await core.joinAgent();
const templateId = await core.createTemplate();

/** Creations by RPC: each creates through a replica and returns the id; each removes what it created. */
const KINDS = {
  CreateTemplate: {
    create: async (replica: number, name: string, requestId: string, key = core.key) => {
      const template = Template.fromPartial({ name, imageName: 'i', env: { A: '1', B: '2' } });
      return (await call(all[replica]!.templates, 'createTemplate', { template, requestId }, key)).template!.id;
    },
    remove: (id: string) => call(core.clients.templates, 'deleteTemplate', { id }, core.key),
  },
  CreateNetworkVolume: {
    create: async (replica: number, name: string, requestId: string, key = core.key) => {
      const networkVolume = NetworkVolume.fromPartial({ name, sizeGb: 1, dataCenterId: 'EU' });
      const request = { networkVolume, requestId };
      return (await call(all[replica]!.volumes, 'createNetworkVolume', request, key)).networkVolume!.id;
    },
    remove: (id: string) => call(core.clients.volumes, 'deleteNetworkVolume', { id }, core.key),
  },
  CreateRegistryAuth: {
    create: async (replica: number, name: string, requestId: string, key = core.key) => {
      const request = { name, username: 'u', password: 'a secret', requestId };
      return (await call(all[replica]!.registryAuths, 'createRegistryAuth', request, key)).registryAuth!.id;
    },
    remove: (id: string) => call(core.clients.registryAuths, 'deleteRegistryAuth', { id }, core.key),
  },
  CreateSecret: {
    create: async (replica: number, name: string, requestId: string, key = core.key) => {
      const request = { name, value: 'a secret', description: '', requestId };
      return (await call(all[replica]!.secrets, 'createSecret', request, key)).secret!.id;
    },
    remove: (id: string) => call(core.clients.secrets, 'deleteSecret', { id }, core.key),
  },
  CreateEndpoint: {
    create: async (replica: number, name: string, requestId: string, key = core.key) => {
      const owned = key === core.key ? templateId : await core.createTemplate({}, key);
      const endpoint = Endpoint.fromPartial({ name, templateId: owned });
      const request = { endpoint, requestId, workersMax: 0, retryLimit: undefined };
      return (await call(all[replica]!.endpoints, 'createEndpoint', request, key)).endpoint!.id;
    },
    remove: (id: string) => call(core.clients.endpoints, 'deleteEndpoint', { id }, core.key),
  },
  CreatePod: {
    create: async (replica: number, name: string, requestId: string, key = core.key) => {
      const pod = Pod.fromPartial({ name, computeType: 'CPU', startCommand: ['true'] });
      return (await call(all[replica]!.pods, 'createPod', { pod, requestId }, key)).pod!.id;
    },
    remove: (id: string) => call(core.clients.pods, 'deletePod', { id }, core.key),
  },
};

const keysOf = async (action: string): Promise<number> =>
  (await core.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM creation_key WHERE action = ${action}`)[0]!.n;

for (const [action, { create, remove }] of Object.entries(KINDS)) {
  t.test(`${action}: the same key creates one resource, also when many ask at once`, async (t) => {
    const ids = await Promise.all([0, 1, 0, 1].map((replica) => create(replica, 'once', 'key 1')));
    t.equal(new Set(ids).size, 1, String(ids));
    t.equal(await create(1, 'once', 'key 1'), ids[0], 'later, too');
    t.match(await reasonOf(create(0, 'other', 'key 1')), /^IDEMPOTENCY_KEY_REUSED: .*another body/);
    t.not(await create(0, 'other', 'key 2'), ids[0], 'another key is another resource');
    const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());
    t.not(await create(0, 'once', 'key 1', stranger), ids[0], 'a key counts in its account');
    const events = await core.sql`SELECT FROM audit_event WHERE action = ${action} AND subject_id = ${ids[0]!}`;
    t.equal(events.length, 1, 'one creation is recorded');
    await remove(ids[0]!);
    t.match(await reasonOf(create(0, 'once', 'key 1')), /^IDEMPOTENCY_KEY_REUSED: .*deleted since/);
    await core.sql`UPDATE creation_key SET expires_at = now() WHERE action = ${action}`;
    t.not(await create(0, 'once', 'key 1'), ids[0], 'an expired key is free');
    await core.sql`UPDATE creation_key SET expires_at = now() WHERE action = ${action}`;
    await waitFor('the expired keys to be deleted', async () => (await keysOf(action)) === 0);
  });
}

t.test('a creation that failed leaves its key free', async (t) => {
  const { create } = KINDS.CreateTemplate;
  await create(0, 'taken', '');
  t.match(await reasonOf(create(0, 'taken', 'key 3')), /^NAME_TAKEN/);
  t.ok(await create(0, 'free', 'key 3'));
  t.match(await reasonOf(create(0, 'long', 'k'.repeat(256))), /^INVALID_REQUEST: request_id has 256/);
});

t.test('a stored key does not reveal the request', async (t) => {
  await KINDS.CreateRegistryAuth.create(0, 'private', 'key 4');
  await KINDS.CreateSecret.create(0, 'private', 'key 4');
  const rows = await core.sql<{ row: string }[]>`SELECT k::text AS row FROM creation_key k`;
  t.notMatch(rows.map(({ row }) => row).join(' '), /key 4|a secret/);
});
