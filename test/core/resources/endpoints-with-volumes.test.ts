// test: postgres, 10 s
/**
 * The network volumes that endpoints and templates may name, where their workers run then, and what agents receive.
 * Real database, scripted agents.
 */

import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const createAuth = async (core: CoreReplicas, key = core.key, name = 'hub') =>
  (await call(core.clients.registryAuths, 'createRegistryAuth', { name, username: 'tintin', password: 'snowy' }, key))
    .registryAuth!.id;
const decisionOf = async (core: CoreReplicas, endpointId: string) =>
  (await core.sql`SELECT * FROM scale_decision WHERE endpoint_id = ${endpointId}`)[0];
const spec = (agent: { desired: { spec?: unknown }[] }) =>
  waitFor('a worker to start', () => agent.desired[0]?.spec) as Promise<{
    volumes: unknown[];
    imageName: string;
    registryCredentials?: unknown;
    version: number;
  }>;

t.test('an endpoint names volumes of its account, one for each data centre', async (t) => {
  const core = await startReplicas(t);
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  const [a, b, c] = [await core.createVolume('EU-1'), await core.createVolume('EU-2'), await core.createVolume('EU-1')];
  const foreign = await core.createVolume('EU-3', stranger);
  const id = await core.createEndpoint({ networkVolumeIds: [b, a], workersMin: 0 });
  const read = async () => (await call(core.clients.endpoints, 'getEndpoint', { id }, core.key)).endpoint!;
  t.same((await read()).networkVolumeIds, [b, a], 'in the order given');
  for (const [networkVolumeIds, why] of [
    [['nosuch'], /network_volume_ids: there is no network volume "nosuch" in this account/],
    [[a, foreign], new RegExp(`no network volume "${foreign}"`)],
    [[a, c], new RegExp(`${a} and ${c} are both in EU-1; name at most one`)],
    [[a, a], new RegExp(`${a} and ${a} are both`)],
  ] as const) {
    const fields = { networkVolumeIds: [...networkVolumeIds] };
    for (const act of [() => core.createEndpoint(fields), () => core.updateEndpoint(id, fields)]) {
      const reason = await reasonOf(act());
      t.match(reason, /^INVALID_REQUEST: network_volume_ids: /);
      t.match(reason, why);
    }
  }
  t.match(await read(), { networkVolumeIds: [b, a], version: 0 }, 'nothing was changed');
  t.match((await core.updateEndpoint(id, { networkVolumeIds: [c] })).endpoint, { networkVolumeIds: [c], version: 1 });
  t.match((await core.updateEndpoint(id, { networkVolumeIds: [] })).endpoint, { networkVolumeIds: [], version: 2 });
  await call(core.clients.volumes, 'deleteNetworkVolume', { id: a }, core.key);
});

t.test('a volume that is being deleted cannot be taken by an endpoint at the same moment', async (t) => {
  const core = await startReplicas(t);
  for (let round = 0; round < 10; round += 1) {
    const volumeId = await core.createVolume('EU-1');
    const [made, removed] = await Promise.allSettled([
      core.createEndpoint({ networkVolumeIds: [volumeId], workersMin: 0 }),
      call(core.clients.volumes, 'deleteNetworkVolume', { id: volumeId }, core.key),
    ]);
    t.not(made.status, removed.status, 'one of the two wins');
  }
  t.equal(
    (
      await core.sql`SELECT FROM endpoint
        WHERE NOT EXISTS (SELECT FROM network_volume WHERE id = ANY(network_volume_ids))`
    ).length,
    0,
  );
});

t.test('workers run where one of the volumes is, and get that one', async (t) => {
  const core = await startReplicas(t);
  const elsewhere = await core.joinAgent({ locations: ['US', 'US-1'] });
  const [first, second] = [await core.createVolume('EU-1'), await core.createVolume('EU-2')];
  const id = await core.createEndpoint({ networkVolumeIds: [first, second] });
  const refused = await waitFor('the refusal', async () => {
    const decision = await decisionOf(core, id);
    return decision?.throttled === 1 ? decision : undefined;
  });
  t.match(refused.refusal_by_machine, /.*: it is in US, US-1, and the network volumes are in (EU-1, EU-2|EU-2, EU-1)/);
  const here = await core.joinAgent({ locations: ['CZ', 'EU-2'] });
  t.same((await spec(here)).volumes, [{ networkVolumeId: second, mountPath: '/runpod-volume', sizeGb: 1 }]);
  t.same(elsewhere.desired, []);
});

t.test('a worker without volumes goes anywhere and gets none', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ locations: ['EU-1'] });
  await core.createVolume('EU-1');
  await core.createEndpoint();
  t.same((await spec(agent)).volumes, []);
});

t.test('a template names credentials of its account', async (t) => {
  const core = await startReplicas(t);
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  const own = await createAuth(core);
  const foreign = await createAuth(core, stranger);
  const id = await core.createTemplate({ imageName: 'i', registryAuthId: own });
  const update = (registryAuthId: string) =>
    call(
      core.clients.templates,
      'updateTemplate',
      { template: Template.fromPartial({ id, registryAuthId }), updateMask: ['registry_auth_id'] },
      core.key,
    );
  for (const registryAuthId of ['nosuch', foreign]) {
    for (const act of [() => core.createTemplate({ registryAuthId }), () => update(registryAuthId)]) {
      t.match(
        await reasonOf(act()),
        new RegExp(
          `^INVALID_REQUEST: registry_auth_id: there are no registry credentials "${registryAuthId}" in this account`,
        ),
      );
    }
  }
  t.equal(
    (await call(core.clients.templates, 'getTemplate', { id }, core.key)).template!.registryAuthId,
    own,
    'nothing was changed',
  );
  t.equal((await update('')).template!.registryAuthId, '');
  await call(core.clients.registryAuths, 'deleteRegistryAuth', { id: own }, core.key);
});

t.test('credentials reach the agent for an image, and not for a command', async (t) => {
  const core = await startReplicas(t);
  const registryAuthId = await createAuth(core);
  const image = await core.joinAgent();
  const imageTemplate = await core.createTemplate({ imageName: 'private/image', startCommand: [], registryAuthId });
  const endpointId = await core.createEndpoint({ templateId: imageTemplate });
  t.match(await spec(image), {
    imageName: 'private/image',
    registryCredentials: { username: 'tintin', password: 'snowy' },
  });
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  await waitFor('it to go', () => image.desired.length === 0);

  await core.createEndpoint({
    templateId: await core.createTemplate({ startCommand: ['run'], entrypoint: ['of no use'], registryAuthId }),
  });
  t.match(await spec(image), { imageName: '', startCommand: ['run'], entrypoint: [], registryCredentials: undefined });
});

t.test('credentials that do not open keep no other worker waiting', async (t) => {
  const core = await startReplicas(t);
  const registryAuthId = await createAuth(core);
  await core.sql`UPDATE registry_auth SET credentials_sealed = '\\x00'`;
  const agent = await core.joinAgent();
  await core.createEndpoint({
    templateId: await core.createTemplate({ imageName: 'private/image', startCommand: [], registryAuthId }),
  });
  await core.createEndpoint();
  await waitFor('both workers', () => agent.desired.length === 2);
  t.ok(agent.desired.every((worker) => worker.spec!.registryCredentials === undefined));
});
