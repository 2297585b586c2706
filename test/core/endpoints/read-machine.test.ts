// test: postgres
/**
 * A machine as its operator sees it: the holders of its GPUs, workers that ended there, pods, images, its key, and
 * accounts that it rejects.
 */

import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { GetMachineResponse } from '@slipway/proto/gen/slipway/v1/machine_service';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const SECRET = 'a-secret-of-an-account';
const gpu = (uuid: string, unhealthy = '') => ({
  uuid,
  name: 'NVIDIA L4',
  memoryMib: 24_576,
  migProfile: '',
  unhealthy,
});
const core = await startReplicas(t);
const { clients, key, rootKey, sql } = core;
const read = (id: string, apiKey = rootKey): Promise<GetMachineResponse> =>
  call(clients.machines, 'getMachine', { id }, apiKey);
const workersOf = (ids: string[]) =>
  call(clients.machines, 'listWorkers', { endpointId: '', machines: { ids } }, rootKey);
const pods = podCalls(clients, key);
const IMAGES = Array.from({ length: 250 }, (_, n) => ({
  name: `registry.example/of/${n}:1`,
  digest: `sha256:${String(n).padStart(64, '0')}`,
  sizeBytes: 1_000 + n,
}));

const agent = await core.joinAgent({
  locations: ['CZ'],
  gpus: [gpu('GPU-1'), gpu('GPU-2'), gpu('GPU-3', 'memory errors (ECC)')],
  images: IMAGES,
  cpuCount: 8,
  memoryMib: 32_768,
});
const { machineId } = agent;

t.test('its workers and pods, without secrets of accounts', async (t) => {
  const template = Template.fromPartial({
    name: 'secret',
    startCommand: ['run', SECRET],
    env: { TOKEN: SECRET },
    serverless: true,
  });
  const { id: templateId } = (await call(clients.templates, 'createTemplate', { template }, key)).template!;
  const endpointId = await core.createEndpoint({
    templateId,
    name: 'on a card',
    gpuIds: ['NVIDIA L4'],
    locations: ['CZ'],
  });
  await core.ready(endpointId);
  const { id: podId } = await pods.create({
    name: 'notebook',
    gpuIds: ['NVIDIA L4'],
    locations: ['CZ'],
    startCommand: ['run', SECRET],
    env: { TOKEN: SECRET },
  });
  await core.submit(endpointId, { token: SECRET });
  const page = await read(machineId);
  t.match(page.status, {
    connected: true,
    cordoned: false,
    machine: { id: machineId, cpuCount: 8, gpus: [{ unhealthy: '' }, {}, { unhealthy: /ECC/ }] },
  });
  t.match(page.pods, [
    {
      id: podId,
      name: 'notebook',
      accountId: core.accountId,
      desiredStatus: PodStatus.RUNNING,
      gpuUuids: page.status!.podGpuUuids,
    },
  ]);
  t.ok(page.pods[0]!.state !== PodState.UNSPECIFIED && page.pods[0]!.stateChangeTime);
  t.same([page.images.length, page.imageCount, page.imageBytes], [200, 250, 250 * 1_000 + 249 * 125]);
  t.equal(page.images[0]!.name, 'registry.example/of/249:1', 'the largest first');
  t.equal(page.replicaAddress, core.replicas[0]!.address);
  t.ok(Math.abs(page.agentSinceTime!.getTime() - Date.now()) < 60_000);
  t.same(page.keyRevokedTime, undefined);
  t.match(page.keyId, /\w+/);
  const { workers } = await workersOf([machineId]);
  t.match(workers, [{ endpointName: 'on a card', accountId: core.accountId, state: WorkerState.READY }]);
  t.same([...workers[0]!.gpuUuids, ...page.pods[0]!.gpuUuids].sort(), ['GPU-1', 'GPU-2']);
  t.notMatch(JSON.stringify([page, workers]), new RegExp(SECRET));
});

t.test('by its name, if no other has it', async (t) => {
  await sql`UPDATE machine SET name = 'rack 1/%' WHERE id = ${machineId}`;
  t.equal((await read('rack 1/%')).status!.machine!.id, machineId);
  const other = await core.joinAgent({ locations: ['US'] });
  await sql`UPDATE machine SET name = 'rack 1/%' WHERE id = ${other.machineId}`;
  t.match(
    await reasonOf(read('rack 1/%')),
    new RegExp(`^INVALID_REQUEST: .*${[machineId, other.machineId].sort().join(', ')}`),
  );
  await sql`UPDATE machine SET name = ${machineId} WHERE id = ${other.machineId}`;
  t.equal((await read(machineId)).status!.machine!.name, 'rack 1/%', 'an id comes before a name');
  for (const none of ['', 'nosuch', 'x'.repeat(10_000), '%']) t.match(await reasonOf(read(none)), /^NOT_FOUND/);
  t.match(await reasonOf(read('a\0b')), /^INVALID_REQUEST/);
  t.match(await reasonOf(read(machineId, key)), /^UNAUTHORIZED/, 'for the operator alone');
  other.drop();
});

t.test('workers that ended there: of this machine, told on its own page', async (t) => {
  const elsewhere = await core.joinAgent({ locations: ['FR'] });
  const ended = async (place: string, name: string): Promise<string> => {
    const id = await core.createEndpoint({ name, locations: [place], computeType: 'CPU' });
    await core.ready(id);
    await core.updateEndpoint(id, { workersMin: 0, workersMax: 0 });
    await waitFor(
      'it to end',
      async () => (await sql`SELECT FROM worker WHERE endpoint_id = ${id} AND ended_at IS NOT NULL`).length === 1,
    );
    return id;
  };
  const here = await ended('CZ', 'ended here');
  await ended('FR', 'ended elsewhere');
  const { recent, ended: groups } = await workersOf([machineId]);
  t.match(recent, [{ endpointId: here, machineId, endTime: Date }]);
  t.equal(recent.length, 1);
  t.same(groups, [], 'it was told to end');
  t.same((await workersOf([machineId, elsewhere.machineId])).recent, [], 'with several machines none');
  await sql`UPDATE worker SET state = 'UNHEALTHY', reason = 'exit code 3: no such model', exit_code = 3
    WHERE endpoint_id = ${here}`;
  t.match((await workersOf([machineId])).ended, [
    { endpointId: here, endpointName: 'ended here', count: 1, exitCode: 3 },
  ]);
  t.same((await workersOf([elsewhere.machineId])).ended, [], 'and not on another');
  await sql`
    INSERT INTO worker (id, endpoint_id, machine_id, state, version, ended_at)
    SELECT 'gone' || n, ${here}, ${machineId}, 'STOPPED', 0, now() - n * interval '1 s'
      FROM generate_series(1, 80) AS n`;
  const many = (await workersOf([machineId])).recent;
  t.equal(many.length, 50, 'no more than one looks at');
  t.ok(
    many.every(({ endTime }, place) => place === 0 || many[place - 1]!.endTime! >= endTime!),
    'the latest first',
  );
});

t.test('who is refused, and what would change that', async (t) => {
  t.same((await read(machineId)).refusals, []);
  const waiting = await core.createEndpoint({
    name: 'two cards',
    gpuIds: ['NVIDIA L4'],
    gpuCount: 2,
    locations: ['CZ'],
  });
  const refusals = await waitFor('it to be told', async () => {
    const found = (await read(machineId)).refusals;
    return found.length > 0 && found;
  });
  t.match(refusals, [
    {
      endpointId: waiting,
      endpointName: 'two cards',
      accountId: core.accountId,
      refusedBy: /GPU/,
      reason: /\w/,
      change: /\w/,
    },
  ]);
  await core.updateEndpoint(waiting, { workersMin: 0, workersMax: 0 });
  await waitFor('nothing to tell', async () => (await read(machineId)).refusals.length === 0);
});

t.test('a revoked key, and a machine that is away', async (t) => {
  await call(clients.keys, 'revokeKey', { id: (await read(machineId)).keyId }, rootKey);
  const { keyId, keyRevokedTime } = await read(machineId);
  t.ok(keyRevokedTime && Math.abs(keyRevokedTime.getTime() - Date.now()) < 60_000, keyId);
  agent.drop();
  await waitFor('it to be away', async () => {
    const { status, replicaAddress } = await read(machineId);
    return !status!.connected && replicaAddress === '';
  });
});
