// test: postgres
/** The catalogue over gRPC: known GPU types and those of machines, their free capacity, pools, locations. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { ListMachinesResponse } from '@slipway/proto/gen/slipway/v1/machine_service';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const gpu = (uuid: string, name = 'NVIDIA L4', migProfile = '') => ({ uuid, name, memoryMib: 24_576, migProfile });
const typesOf = async (core: CoreReplicas, key = core.key) =>
  (await call(core.clients.catalog, 'listGpuTypes', {}, key)).gpuTypes;

t.test('GPU types', async (t) => {
  const core = await startReplicas(t);
  const known = await typesOf(core);
  t.equal(known.length, 49, 'all of the public list, each card once');
  t.same(
    known.map((type) => type.id),
    known.map((type) => type.id).sort(),
    'by name',
  );
  t.match(
    known.find((type) => type.id === 'NVIDIA GeForce RTX 4090'),
    {
      displayName: 'RTX 4090',
      manufacturer: 'NVIDIA',
      memoryGb: 24,
      total: 0,
      free: 0,
      countMax: 0,
      usdPerHour: 0,
    },
  );
  t.match(
    known.find((type) => type.id === 'AMD Instinct MI300X OAM'),
    { displayName: 'MI300X', manufacturer: 'AMD', memoryGb: 192 },
  );
  await call(core.clients.usage, 'setPrices', { prices: [{ item: 'NVIDIA L4', usdPerHour: 0.5 }] }, core.rootKey);
  await core.joinAgent({
    gpus: [gpu('a'), gpu('b'), gpu('c', 'NVIDIA Cellar 9000'), gpu('d', 'NVIDIA A30', '1g.6gb')],
  });
  const away = await core.joinAgent({ gpus: [gpu('e')] });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'] });
  await core.ready(endpointId);
  const types = await typesOf(core);
  t.match(
    types.slice(0, 3).map((type) => type.id),
    ['NVIDIA A30 MIG 1g.6gb', 'NVIDIA Cellar 9000', 'NVIDIA L4'],
    'what machines have comes first',
  );
  t.match(
    types.find((type) => type.id === 'NVIDIA L4'),
    { total: 3, free: 2, countMax: 2, usdPerHour: 0.5, memoryGb: 24 },
  );
  t.match(
    types.find((type) => type.id === 'NVIDIA Cellar 9000'),
    { total: 1, free: 1, displayName: 'Cellar 9000', memoryGb: 24 },
    'unknown cards too',
  );
  t.match(
    types.find((type) => type.id === 'NVIDIA A30'),
    { total: 0 },
    'a slice is no whole card',
  );
  await call(
    core.clients.pods,
    'createPod',
    { pod: Pod.fromPartial({ imageName: 'i', gpuIds: ['NVIDIA L4'], gpuCount: 1 }) },
    core.key,
  );
  t.match(
    (await typesOf(core)).find((type) => type.id === 'NVIDIA L4'),
    { total: 3, free: 1 },
    'pods use them as workers do',
  );
  away.drop();
  await core.sql`UPDATE machine SET lease_expires_at = now() - interval '1 s' WHERE id = ${away.machineId}`;
  t.match(
    (await typesOf(core)).find((type) => type.id === 'NVIDIA L4'),
    { total: 2 },
    'a machine that is gone has nothing',
  );
});

t.test('machines come in pages, by name', async (t) => {
  const core = await startReplicas(t);
  for (let index = 0; index < 5; index += 1) await core.joinAgent({});
  const all = (await call(core.clients.machines, 'listMachines', {}, core.rootKey)).machines.map(
    ({ machine }) => machine!.id,
  );
  const pages: string[][] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: ListMachinesResponse = await call(
      core.clients.machines,
      'listMachines',
      { pageSize: 2, pageToken },
      core.rootKey,
    );
    pages.push(page.machines.map(({ machine }) => machine!.id));
    pageToken = page.nextPageToken || undefined;
  }
  t.same([all.length, pages.map(({ length }) => length)], [5, [2, 2, 1]]);
  t.same(pages.flat(), all);
  const ask = (request: { pageSize?: number; pageToken?: string }) =>
    reasonOf(call(core.clients.machines, 'listMachines', request, core.rootKey));
  t.match(await ask({ pageToken: 'bm9uc2Vuc2U' }), /^INVALID_REQUEST: page_token is none/);
  t.match(await ask({ pageSize: 1_001 }), /^INVALID_REQUEST: page_size is 1001/);
});

t.test('pools', async (t) => {
  const core = await startReplicas(t);
  const { gpuPools } = await call(core.clients.catalog, 'listGpuPools', {}, core.key);
  t.equal(gpuPools[0]!.id, 'AMPERE_16');
  t.equal(gpuPools.at(-1)!.id, 'BLACKWELL_180');
  t.match(gpuPools.find((pool) => pool.id === 'AMPERE_24')!.gpuTypeIds, [
    'NVIDIA L4',
    'NVIDIA RTX A5000',
    'NVIDIA GeForce RTX 3090',
  ]);
});

t.test('data centres', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({ gpus: [gpu('a'), gpu('b')], locations: ['CZ', 'EU-CZ-1'] });
  await core.joinAgent({ gpus: [gpu('c')], locations: ['EU-CZ-1', 'my cellar'] });
  await core.joinAgent({ locations: ['DE'] });
  const stranger = await core.newAccount();
  await core.sql`INSERT INTO network_volume (id, account_id, name, size_gb, data_center_id) VALUES
    ('v1', ${core.accountId}, 'v', 1, 'US-OLD-1'), ('v2', ${stranger}, 'v', 1, 'US-STRANGE-1')`;
  const { dataCenters, cpu } = await call(core.clients.catalog, 'listDataCenters', {}, core.key);
  // These machines do not report how many processors and how much memory they have.
  const room = (slots: number) => ({ slots, freeSlots: slots, freeVcpus: 2_147_483_647, freeMemoryGb: 2_147_483_647 });
  t.same(dataCenters, [
    { id: 'EU-CZ-1', countryCode: 'CZ', gpus: [{ gpuTypeId: 'NVIDIA L4', total: 3, free: 3 }], cpu: room(32) },
    { id: 'US-OLD-1', countryCode: '', gpus: [], cpu: undefined },
    { id: 'my cellar', countryCode: '', gpus: [{ gpuTypeId: 'NVIDIA L4', total: 1, free: 1 }], cpu: room(16) },
  ]);
  t.same(cpu, room(48), 'with the machine that is in no place');
});

t.test('what gets nothing new is not free: a cordoned GPU, a cordoned machine', async (t) => {
  const core = await startReplicas(t);
  const { machineId } = await core.joinAgent({ gpus: [gpu('a'), gpu('b')], locations: ['EU-CZ-1'], cpuSlots: 4 });
  const cordon = (gpuUuid: string) =>
    call(core.clients.machines, 'cordonMachine', { id: machineId, cordoned: true, gpuUuid }, core.rootKey);
  const check = async (free: number, freeSlots: number): Promise<void> => {
    t.match((await typesOf(core))[0], { id: 'NVIDIA L4', total: 2, free });
    const { dataCenters } = await call(core.clients.catalog, 'listDataCenters', {}, core.key);
    t.match(dataCenters, [{ gpus: [{ total: 2, free }], cpu: { slots: 4, freeSlots } }]);
  };
  await check(2, 4);
  await cordon('b');
  await check(1, 4);
  await cordon('');
  await check(0, 0);
});

t.test('who may look', async (t) => {
  const core = await startReplicas(t);
  t.ok((await typesOf(core, await core.newKey(KeyScope.READ_ONLY))).length > 0);
  t.ok((await typesOf(core, core.rootKey)).length > 0);
  t.ok((await typesOf(core, '')).length > 0, 'without a key');
  t.match(await reasonOf(typesOf(core, core.agentKey)), /^UNAUTHORIZED/);
  t.match(await reasonOf(typesOf(core, 'rpa_unknown')), /^UNAUTHORIZED/);
});
