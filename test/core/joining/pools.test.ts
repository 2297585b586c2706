// test: postgres, 20 s
/** Pools: what machines have from them, as placement sees it, and how a change reaches machines that have joined. */

import { MachinePool } from '@slipway/proto/gen/slipway/v1/machine';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t, 2);
const { clients, rootKey, key, sql } = core;
const pods = podCalls(clients, key);
const set = async (pool: Parameters<typeof MachinePool.fromPartial>[0], ...updateMask: string[]) =>
  (await call(clients.machines, 'setMachinePool', { pool: MachinePool.fromPartial(pool), updateMask }, rootKey)).pool!;
const list = async () => (await call(clients.machines, 'listMachinePools', {}, rootKey)).pools;
const remove = (name: string) => call(clients.machines, 'deleteMachinePool', { name }, rootKey);
const statusOf = async (id: string) => (await call(clients.machines, 'getMachine', { id }, rootKey)).status!;
const placesOf = async (id: string) => (await statusOf(id)).machine!.locations;

t.test('labels and locations, before and after machines have joined', async (t) => {
  await set({ name: 'rack', labels: { tier: 'fast', owner: 'vision' }, locations: ['eu-1'] }, 'labels', 'locations');
  const own = await core.joinAgent({ pool: 'rack', locations: ['eu-9', 'pool:rack'] });
  const none = await core.joinAgent({ pool: 'rack', locations: ['pool:rack'] }, core.replicas[1]!);
  const other = await core.joinAgent({ locations: ['eu-1'] });
  t.same(
    await placesOf(own.machineId),
    ['eu-9', 'pool:rack', 'owner=vision', 'tier=fast'],
    'it names its own location',
  );
  t.same(await placesOf(none.machineId), ['eu-1', 'pool:rack', 'owner=vision', 'tier=fast']);
  t.match(await statusOf(none.machineId), {
    labels: { tier: 'fast', owner: 'vision' },
    machine: { pool: 'rack' },
  });
  const endpointId = await core.createEndpoint({ locations: ['tier=fast'], workersMin: 2, workersMax: 2 });
  await core.ready(endpointId, 2);
  t.equal(other.desired.length, 0, 'a worker goes only to machines with the label');

  const waiting = await core.createEndpoint({ locations: ['tier=slow'] });
  t.match(
    await reasonOf(pods.create({ computeType: 'CPU', startCommand: ['true'], locations: ['tier=slow'] })),
    /^NO_CAPACITY/,
  );
  await set({ name: 'rack', labels: { tier: 'slow' } }, 'labels');
  t.same(await placesOf(own.machineId), ['eu-9', 'pool:rack', 'tier=slow'], 'at once');
  await core.ready(waiting);
  const pod = await pods.create({ computeType: 'CPU', startCommand: ['true'], locations: ['tier=slow'] });
  t.notOk(pod.machine?.id === other.machineId);
  t.equal(pod.state, PodState.STARTING);
  t.equal(
    (await core.sql`SELECT FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL`).length,
    2,
    'workers stay',
  );

  await core.joinAgent({ machineId: own.machineId, pool: 'rack', locations: ['tier=own', 'pool:rack'] });
  t.same(
    await placesOf(own.machineId),
    ['eu-1', 'tier=own', 'pool:rack'],
    'an agent may name another value of a label',
  );
  const keyed = await core.joinAgent({ locations: ['pool:rack'] });
  t.same(await placesOf(keyed.machineId), ['eu-1', 'pool:rack', 'tier=slow'], 'an agent may name its pool itself');
  keyed.drop();
  await core.sql`DELETE FROM machine WHERE id = ${keyed.machineId}`;
  await core.joinAgent({ machineId: own.machineId, pool: '', locations: ['eu-2'] });
  t.same(await placesOf(own.machineId), ['eu-2'], 'it has left the pool');
  t.match(await list(), [{ name: 'rack', machines: 1, labels: { tier: 'slow' }, locations: ['eu-1'] }]);
  await remove('rack');
  t.same(await placesOf(none.machineId), ['pool:rack']);
  t.match(await list(), [{ name: 'rack', machines: 1, labels: {}, locations: [] }], 'a pool with machines is listed');
  t.match(await reasonOf(remove('rack')), /^NOT_FOUND/);
});

t.test('settings reach agents in their session', async (t) => {
  await set(
    { name: 'shelf', settings: { modelDiskGb: 500, standbyMax: 0 } },
    'settings.model_disk_gb',
    'settings.standby_max',
  );
  const agent = await core.joinAgent({ pool: 'shelf' });
  const alone = await core.joinAgent({});
  await waitFor('its settings', () => agent.desiredSettings?.modelDiskGb === 500);
  t.match(agent.desiredSettings, { modelDiskGb: 500, standbyMax: 0, imageDiskGb: undefined });
  await waitFor('a message', () => alone.desiredSettings !== undefined);
  t.equal(alone.desiredSettings?.modelDiskGb, undefined, 'a machine without a pool has none');
  await set({ name: 'shelf', settings: { standbyMemoryGb: 64 } }, 'settings.standby_memory_gb', 'settings.standby_max');
  await waitFor('the change', () => agent.desiredSettings?.standbyMemoryGb === 64);
  t.match(
    agent.desiredSettings,
    { modelDiskGb: 500, standbyMax: undefined },
    'a named setting without a value is removed',
  );
});

t.test('a machine in another pool than before gets only the settings of the new one', async (t) => {
  await set({ name: 'before', settings: { imageDiskGb: 1 } }, 'settings.image_disk_gb');
  await set({ name: 'after', settings: { imageDiskGb: 2 } }, 'settings.image_disk_gb');
  const { machineId } = await core.joinAgent({ pool: 'before' });
  const [locked, joined] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // While a pool changes, a machine that joins waits, and others get their settings.
  const change = sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(5947213007)`;
    locked.resolve();
    await joined.promise;
  });
  await locked.promise;
  const joining = core.joinAgent({ machineId, pool: 'after' });
  await waitFor('the machine to wait', async () => {
    const [row] = await sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND (classid::bigint << 32) + objid::bigint = 5947213007`;
    return row !== undefined;
  });
  const other = await core.joinAgent({});
  await waitFor('settings of another', () => other.desiredSettings !== undefined);
  joined.resolve();
  await change;
  const agent = await joining;
  await waitFor('its first settings', () => agent.desiredSettings !== undefined);
  t.equal(agent.desiredSettings?.imageDiskGb, 2);
});

t.test('bad pools change nothing', async (t) => {
  const before = await list();
  const bad = async (pool: Parameters<typeof MachinePool.fromPartial>[0], ...mask: string[]) =>
    reasonOf(set({ name: 'bad', ...pool }, ...mask));
  t.match(await bad({ name: '' }), /^INVALID_REQUEST: pool.name/);
  t.match(await bad({ name: 'two words' }), /^INVALID_REQUEST: pool.name/);
  t.match(await bad({ name: 'n'.repeat(65) }), /^INVALID_REQUEST: pool.name/);
  t.match(await bad({ labels: { '1st': '' } }, 'labels'), /^INVALID_REQUEST.*"1st"/);
  t.match(await bad({ labels: { tier: 'a b' } }, 'labels'), /^INVALID_REQUEST.*label tier/);
  t.match(await bad({ labels: { tier: 'v'.repeat(64) } }, 'labels'), /^INVALID_REQUEST.*label tier/);
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, '']));
  t.match(await bad({ labels: many }, 'labels'), /^INVALID_REQUEST.*32/);
  t.match(await bad({ locations: ['a,b'] }, 'locations'), /^INVALID_REQUEST.*locations/);
  t.match(await bad({ settings: { standbyMax: 10_001 } }, 'settings.standby_max'), /settings.standby_max is 10001/);
  t.match(await bad({ settings: { modelDiskGb: -1 } }, 'settings.model_disk_gb'), /settings.model_disk_gb is -1/);
  t.match(await bad({}, 'machines'), /^INVALID_REQUEST.*machines/);
  await t.rejects(core.joinAgent({ pool: 'p'.repeat(192) }), { message: /hello.machine.pool has 192 characters/ });
  t.same(await list(), before);
});

t.test('machines that join while their pool changes have its last labels', async (t) => {
  const rounds = Array.from({ length: 12 }, (_, round) => String(round));
  const joined = await Promise.all(
    rounds.map(async (round, index) => {
      const [agent] = await Promise.all([
        core.joinAgent({ pool: 'busy', locations: ['pool:busy'] }, core.replicas[index % 2]!),
        set({ name: 'busy', labels: { round } }, 'labels'),
      ]);
      return agent.machineId;
    }),
  );
  const { labels } = (await list()).find(({ name }) => name === 'busy')!;
  for (const id of joined) t.same(await placesOf(id), ['pool:busy', `round=${labels['round']}`]);
});

t.test('each change is in the audit trail, with old and new values', async (t) => {
  await set({ name: 'audited', labels: { tier: 'a' } }, 'labels');
  await set(
    { name: 'audited', labels: { tier: 'b' }, settings: { imageDiskGb: 9 } },
    'labels',
    'settings.image_disk_gb',
  );
  await set({ name: 'audited', labels: { tier: 'b' } }, 'labels');
  await remove('audited');
  const rows = await sql`SELECT action, values, account_id FROM audit_event WHERE subject_id = 'audited' ORDER BY id`;
  t.match(
    [...rows],
    [
      { action: 'SetMachinePool', values: { labels: { new: { tier: 'a' } } } },
      {
        action: 'SetMachinePool',
        values: { labels: { old: { tier: 'a' }, new: { tier: 'b' } }, image_disk_gb: { new: 9 } },
      },
      { action: 'DeleteMachinePool' },
    ],
  );
  t.equal(rows.length, 3, 'what changes nothing is not recorded');
});
