// test: postgres
/** Cordoned machines take no new work and keep what runs; unhealthy GPUs are not used. Both appear in explanations. */

import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const gpu = (uuid: string, unhealthy = '') => ({
  uuid,
  name: 'NVIDIA L4',
  memoryMib: 24_576,
  migProfile: '',
  unhealthy,
});
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const why = async (endpointId: string, apiKey = rootKey) =>
  (await call(clients.endpoints, 'explain', { endpointId }, apiKey)).explanation!;
const cordon = (id: string, cordoned: boolean, apiKey = rootKey) =>
  call(clients.machines, 'cordonMachine', { id, cordoned }, apiKey);
const machine = async (id: string) =>
  (await call(clients.machines, 'listMachines', {}, rootKey)).machines.find((each) => each.machine!.id === id)!;
const pods = podCalls(clients, key);

t.test('cordoned: running workers stay, nothing new starts, no standby worker resumes', async (t) => {
  const agent = await core.joinAgent({ locations: ['CZ'] });
  const running = await core.createEndpoint({ locations: ['CZ'] });
  await core.ready(running);
  const sleeping = await core.createEndpoint({
    locations: ['CZ'],
    flashBootType: FlashBootType.FLASHBOOT,
    workersMin: 0,
    idleTimeoutSeconds: 1,
  });
  await core.wait(sleeping, (await core.submit(sleeping)).id);
  await waitFor('a frozen worker', () => agent.desired.some(({ desired }) => desired === DesiredState.FREEZE));
  t.match(await reasonOf(cordon(agent.machineId, true, key)), /^UNAUTHORIZED/, 'for the operator alone');
  t.match(await reasonOf(cordon('nosuch000000', true)), /^NOT_FOUND/);
  await cordon(agent.machineId, true);
  t.equal((await machine(agent.machineId)).cordoned, true);
  t.equal((await core.wait(running, (await core.submit(running)).id)).state, JobState.COMPLETED, 'what runs goes on');
  const { id } = await core.submit(sleeping);
  const limited = await waitFor('it to be refused', async () => {
    const { limits, machines } = await why(sleeping);
    return limits[0]?.limit === 'NO_PLACE' && machines;
  });
  t.match(limited, [{ refusedBy: 'CORDONED', reason: /operator cordoned it/, change: /machines uncordon/ }]);
  t.match((await why(sleeping, key)).machines, [{ name: '', refusedBy: 'CORDONED', reason: 'is cordoned' }]);
  t.match(
    await reasonOf(pods.create({ computeType: 'CPU', startCommand: ['true'], locations: ['CZ'] })),
    /^NO_CAPACITY/,
  );
  const again = await core.joinAgent({ locations: ['CZ'], machineId: agent.machineId });
  t.equal((await machine(agent.machineId)).cordoned, true, 'also when its agent comes back');
  await cordon(agent.machineId, false);
  await cordon(agent.machineId, false);
  t.equal((await core.wait(sleeping, id)).state, JobState.COMPLETED);
  const { events } = await call(
    clients.audit,
    'listAuditEvents',
    { accountId: '', pageSize: 0, pageToken: '', subjectId: agent.machineId },
    rootKey,
  );
  t.same(
    events
      .filter(({ action, refused }) => action.includes('ordonMachine') && refused === '')
      .map(({ action }) => action),
    ['UncordonMachine', 'CordonMachine'],
    'each change once',
  );
  again.drop();
});

t.test('an unhealthy GPU is not assigned until it is healthy', async (t) => {
  const agent = await core.joinAgent({ locations: ['US'], gpus: [gpu('GPU-1', 'memory errors (ECC)'), gpu('GPU-2')] });
  t.match((await machine(agent.machineId)).machine!.gpus, [
    { uuid: 'GPU-1', unhealthy: 'memory errors (ECC)' },
    { uuid: 'GPU-2', unhealthy: '' },
  ]);
  const first = await core.createEndpoint({ locations: ['US'], gpuIds: ['NVIDIA L4'] });
  await core.ready(first);
  t.same([...(await core.sql`SELECT gpu_uuids FROM worker WHERE endpoint_id = ${first}`)], [{ gpu_uuids: ['GPU-2'] }]);
  const two = await core.createEndpoint({ locations: ['US'], gpuIds: ['NVIDIA L4'], gpuCount: 2 });
  const refusal = await waitFor('it to be refused', async () =>
    (await why(two)).machines.find(({ refusedBy }) => refusedBy === 'GPUS_UNHEALTHY'),
  );
  t.match(refusal, {
    reason: /1 of its GPUs are unhealthy: GPU-1 \(memory errors \(ECC\)\)/,
    change: /repair or reset/,
  });
  await core.updateEndpoint(first, { workersMin: 0, workersMax: 0 });
  agent.drop();
  await core.joinAgent({ locations: ['US'], machineId: agent.machineId, gpus: [gpu('GPU-1'), gpu('GPU-2')] });
  await core.ready(two);
});
