// test: postgres
/** Network volumes over gRPC: bounds, growth, use, other accounts, what is metered. */

import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const create = async (core: CoreReplicas, fields: Partial<NetworkVolume> = {}, key = core.key) => {
  const networkVolume = NetworkVolume.fromPartial({ name: 'data', sizeGb: 10, dataCenterId: 'EU-CZ-1', ...fields });
  return (await call(core.clients.volumes, 'createNetworkVolume', { networkVolume }, key)).networkVolume!;
};
const update = (core: CoreReplicas, fields: Partial<NetworkVolume>, updateMask: string[], key = core.key) =>
  call(
    core.clients.volumes,
    'updateNetworkVolume',
    { networkVolume: NetworkVolume.fromPartial(fields), updateMask },
    key,
  );
const remove = (core: CoreReplicas, id: string, key = core.key) =>
  call(core.clients.volumes, 'deleteNetworkVolume', { id }, key);

t.test('created, read, listed, changed, deleted', async (t) => {
  const core = await startReplicas(t);
  const volume = await create(core);
  t.match(volume, { id: /^[a-z0-9]{10}$/, name: 'data', sizeGb: 10, dataCenterId: 'EU-CZ-1' });
  t.ok(volume.createTime instanceof Date);
  t.same((await call(core.clients.volumes, 'getNetworkVolume', { id: volume.id }, core.key)).networkVolume, volume);
  const second = await create(core, { name: 'more', sizeGb: 0 });
  t.same(
    (await call(core.clients.volumes, 'listNetworkVolumes', {}, core.key)).networkVolumes,
    [volume, second],
    'oldest first',
  );
  t.same((await update(core, { id: volume.id, name: 'renamed' }, ['name'])).networkVolume, {
    ...volume,
    name: 'renamed',
  });
  t.same((await update(core, { id: volume.id, sizeGb: 4_096 }, ['size_gb'])).networkVolume, {
    ...volume,
    name: 'renamed',
    sizeGb: 4_096,
  });
  await remove(core, volume.id);
  t.same((await call(core.clients.volumes, 'listNetworkVolumes', {}, core.key)).networkVolumes, [second]);
  for (const act of [
    () => call(core.clients.volumes, 'getNetworkVolume', { id: volume.id }, core.key),
    () => update(core, { id: volume.id, name: 'x' }, ['name']),
    () => remove(core, volume.id),
  ])
    t.match(await reasonOf(act()), new RegExp(`^NOT_FOUND: There is no network volume "${volume.id}"`));
});

const BAD: [what: string, fields: Partial<NetworkVolume>, why: RegExp][] = [
  ['no name', { name: '' }, /name has 0 characters, but must have 1 to 191/],
  ['a long name', { name: 'x'.repeat(192) }, /name has 192/],
  ['a NUL', { name: 'a\0' }, /cannot be stored/],
  ['a negative size', { sizeGb: -1 }, /size_gb is -1, but must be a whole number from 0 to 4096/],
  ['one over the largest size', { sizeGb: 4_097 }, /size_gb is 4097/],
  ['no data centre', { dataCenterId: '' }, /data_center_id has 0 characters, but must have 1 to 64/],
  ['a long data centre', { dataCenterId: 'x'.repeat(65) }, /data_center_id has 65/],
];

t.test('bad fields change nothing', async (t) => {
  const core = await startReplicas(t);
  for (const [what, fields, why] of BAD) {
    const reason = await reasonOf(create(core, fields));
    t.match(reason, /^INVALID_REQUEST: /, what);
    t.match(reason, why, what);
  }
  t.match(
    await reasonOf(call(core.clients.volumes, 'createNetworkVolume', { networkVolume: undefined }, core.key)),
    /network_volume is required/,
  );
  t.equal((await core.sql`SELECT FROM network_volume`).length, 0, 'nothing was stored');
  const { id } = await create(core);
  t.match(
    await reasonOf(update(core, { id, sizeGb: 9 }, ['size_gb'])),
    /^INVALID_REQUEST: size_gb is 9, but the volume has 10 already and only ever grows/,
  );
  t.match(await reasonOf(update(core, { id, sizeGb: 4_097 }, ['size_gb'])), /size_gb is 4097/);
  t.match(await reasonOf(update(core, { id, name: '' }, ['name'])), /name has 0/);
  t.match(await reasonOf(update(core, { id, name: 'x' }, [])), /update_mask is empty/);
  t.match(
    await reasonOf(update(core, { id, dataCenterId: 'US' }, ['data_center_id'])),
    /data_center_id is fixed after creation/,
  );
  t.match(
    await reasonOf(
      call(core.clients.volumes, 'updateNetworkVolume', { networkVolume: undefined, updateMask: ['name'] }, core.key),
    ),
    /is required/,
  );
  t.match(await core.sql`SELECT name, size_gb FROM network_volume`, [{ name: 'data', size_gb: 10 }]);
});

t.test('a volume in use stays, and the refusal names its users', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ locations: ['EU-CZ-1'] });
  const { id } = await create(core);
  const endpointId = await core.createEndpoint({ networkVolumeIds: [id], workersMin: 0, workersMax: 0 });
  await core.sql`
    INSERT INTO pod (id, account_id, name, network_volume_id, machine_id, start_command)
    VALUES ('pod00000000001', ${core.accountId}, 'p', ${id}, ${agent.machineId}, '{true}')`;
  t.match(
    await reasonOf(remove(core, id)),
    new RegExp(`^IN_USE: The network volume is used by endpoint ${endpointId}, pod pod00000000001; `),
  );
  await call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.key);
  t.match(await reasonOf(remove(core, id)), /^IN_USE: .* by pod pod00000000001; /);
  await core.sql`DELETE FROM pod`;
  await remove(core, id);
});

t.test("another account's volume is not found", async (t) => {
  const core = await startReplicas(t);
  const { id } = await create(core);
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  t.match(await reasonOf(call(core.clients.volumes, 'getNetworkVolume', { id }, stranger)), /^NOT_FOUND/);
  t.match(await reasonOf(update(core, { id, name: 'x' }, ['name'], stranger)), /^NOT_FOUND/);
  t.match(await reasonOf(remove(core, id, stranger)), /^NOT_FOUND/);
  t.same((await call(core.clients.volumes, 'listNetworkVolumes', {}, stranger)).networkVolumes, []);
  t.match(await core.sql`SELECT name FROM network_volume`, [{ name: 'data' }]);
});

t.test('every size is metered from when it was set', async (t) => {
  const core = await startReplicas(t);
  const { id } = await create(core);
  await update(core, { id, name: 'same size', sizeGb: 10 }, ['name', 'size_gb']);
  await update(core, { id, sizeGb: 20 }, ['size_gb']);
  await remove(core, id);
  const spans =
    await core.sql`SELECT disk_gb, ended_at IS NULL AS open FROM usage_span WHERE subject_id = ${id} ORDER BY id`;
  t.same(
    [...spans],
    [
      { disk_gb: 10, open: false },
      { disk_gb: 20, open: false },
    ],
  );
});
