// test: postgres, 10 s
/**
 * A machine that left for good: placement stops waiting for it after 10 minutes, and the operator can forget it at
 * once.
 */

import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '', displayName: '' };
const forget = (core: CoreReplicas, id: string, key = core.rootKey) =>
  call(core.clients.machines, 'forgetMachine', { id }, key);
const health = async (core: CoreReplicas, endpointId: string, key = core.key) =>
  (await call(core.clients.jobs, 'getHealth', { endpointId }, key)).workers!;
const leave = (core: CoreReplicas, machineId: string, minutes: number) => core.sql`UPDATE machine SET session_id = NULL,
  lease_expires_at = now() - interval '1 s', seen_at = now() - ${minutes}::int * interval '1 min'
    WHERE id = ${machineId}`;

t.test('an endpoint of any type waits for a GPU that is away, not for a removed one', async (t) => {
  const core = await startReplicas(t);
  const gone = await core.joinAgent({ gpus: [L4], cpuSlots: 0 });
  const here = await core.joinAgent({ cpuSlots: 4 });
  gone.drop();
  await leave(core, gone.machineId, 9);
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  const told = await waitFor('the refusal', async () => {
    const { throttledReason, throttled } = await health(core, endpointId);
    return throttledReason !== '' && { throttledReason, throttled };
  });
  t.same(told, {
    throttledReason: 'no machine has a free GPU: 1 machine has no GPU; 1 machine is not connected',
    throttled: 1,
  });
  t.match((await call(core.clients.endpoints, 'getEndpoint', { id: endpointId }, core.key)).endpoint, {
    throttledReason: told.throttledReason,
  });
  const { endpoints } = await call(core.clients.endpoints, 'listEndpoints', {}, core.key);
  t.equal(endpoints.find(({ id }) => id === endpointId)!.throttledReason, told.throttledReason);
  t.match(
    (await health(core, endpointId, core.rootKey)).throttledReason,
    new RegExp(`${here.machineId}: it has no GPU`),
    'the operator is told which',
  );
  await leave(core, gone.machineId, 11);
  await core.ready(endpointId, 1);
  t.equal(here.desired.length, 1, 'it runs without a GPU where there is none');
  await waitFor('nothing to tell', async () => (await health(core, endpointId)).throttledReason === '');
});

t.test('forgetting a machine', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ gpus: [L4], onAssignment: () => undefined });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'] });
  await core.ready(endpointId);
  const { id: jobId } = await core.submit(endpointId);
  await waitFor('the job to run', () => agent.assignments.length > 0);
  t.match(await reasonOf(forget(core, agent.machineId)), /^IN_USE: .*Stop its agent/, 'not while it is connected');
  t.match(await reasonOf(forget(core, agent.machineId, core.key)), /^UNAUTHORIZED/);
  t.match(await reasonOf(forget(core, 'nosuchmachine')), /^NOT_FOUND/);
  agent.drop();
  await core.sql`UPDATE machine SET session_id = NULL WHERE id = ${agent.machineId}`;
  t.match(
    await reasonOf(forget(core, agent.machineId)),
    /^IN_USE/,
    'nor while its lease runs: it may still hold attempts',
  );
  await core.sql`UPDATE machine SET lease_expires_at = now() - interval '1 s' WHERE id = ${agent.machineId}`;
  await core.sql`UPDATE machine SET name = 'rack-1' WHERE id = ${agent.machineId}`;
  const { lostWorkers } = await forget(core, 'rack-1');
  t.ok(lostWorkers <= 1);
  t.same((await call(core.clients.machines, 'listMachines', {}, core.rootKey)).machines, []);
  const keys = async () => (await call(core.clients.keys, 'listKeys', { accountId: '' }, core.rootKey)).keys;
  t.ok((await keys()).find(({ machineId }) => machineId === agent.machineId)?.revokeTime, 'its key works no more');
  const other = await core.joinAgent({ gpus: [{ ...L4, uuid: 'GPU-2' }] });
  await core.ready(endpointId);
  t.equal((await core.wait(endpointId, jobId)).state, JobState.COMPLETED, 'its job is not lost');
  t.equal(other.assignments.length, 1);
});
