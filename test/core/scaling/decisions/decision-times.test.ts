// test: postgres, 10 s
/**
 * Decisions follow their conditions at once, without the resync. On the clock of this core, the periods of the resync
 * and of other loops never end during the test.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../../helpers/pods/pod-calls.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined };
const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const L4_POD = { name: 'p', startCommand: ['true'], gpuIds: ['NVIDIA L4'], gpuCount: 1, computeType: 'GPU' };
/** This clock never fires timers of 2 s and more. */
const standing: Clock = {
  ...systemClock,
  after: (ms, fn) => systemClock.after(ms > 850 && ms < 1_150 ? 120_000 : ms, fn),
};

const core = await startReplicas(t, 1, {}, { clock: standing });
const workers = async (endpointId: string) => core.sql<{ id: string; desired: string }[]>`
  SELECT id, desired FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL ORDER BY created_at`;
const count = (endpointId: string, wanted: number) =>
  waitFor(`${wanted} workers`, async () => (await workers(endpointId)).length === wanted);
const refused = (endpointId: string) =>
  waitFor(
    'it to be refused',
    async () =>
      (await core.sql`SELECT FROM scale_decision WHERE endpoint_id = ${endpointId} AND throttled = 1`).length === 1,
  );

t.test('QUEUE_DELAY: a job has waited long enough beside a worker', async () => {
  await core.joinAgent({ ...silent, locations: ['CZ'] });
  const endpointId = await core.createEndpoint({ locations: ['CZ'], scalerValue: 2 });
  await core.ready(endpointId);
  await core.submit(endpointId);
  await core.submit(endpointId);
  await count(endpointId, 2);
});

t.test('QUEUE_DELAY: further workers follow', async (t) => {
  await core.joinAgent({ ...silent, locations: ['FR'] });
  const endpointId = await core.createEndpoint({ locations: ['FR'], scalerValue: 2 });
  await core.ready(endpointId);
  for (let n = 0; n < 4; n += 1) await core.submit(endpointId);
  await count(endpointId, 3);
  const [first, second, third] = await core.sql<{ ms: number }[]>`
    SELECT (extract(epoch FROM created_at) * 1000)::float8 AS ms FROM worker WHERE endpoint_id = ${endpointId}
      ORDER BY created_at`;
  t.ok(second!.ms - first!.ms >= 2_000 && third!.ms - second!.ms >= 2_000, 'none too soon');
});

t.test('REQUEST_COUNT: waiting and running jobs need one more worker', async (t) => {
  await core.joinAgent({ ...silent, locations: ['SE'], capacity: 4 });
  const endpointId = await core.createEndpoint({
    locations: ['SE'],
    scalerType: ScalerType.REQUEST_COUNT,
    scalerValue: 3,
    workersMax: 3,
  });
  await core.ready(endpointId);
  for (let n = 0; n < 3; n += 1) await core.submit(endpointId);
  t.equal((await workers(endpointId)).length, 1, 'three are for one');
  await core.submit(endpointId);
  await count(endpointId, 2);
  for (let n = 0; n < 3; n += 1) await core.submit(endpointId);
  await count(endpointId, 3);
});

t.test('idleTimeout', async () => {
  await core.joinAgent({ locations: ['RO'] });
  const endpointId = await core.createEndpoint({ locations: ['RO'], idleTimeoutSeconds: 2 });
  await core.ready(endpointId);
  await core.updateEndpoint(endpointId, { workersMin: 0 });
  await count(endpointId, 0);
});

t.test('the end of the back-off after a crash', async (t) => {
  const agent = await core.joinAgent({ locations: ['IS'], startWorkers: false });
  const endpointId = await core.createEndpoint({ locations: ['IS'], workersMax: 1 });
  const [first] = await waitFor(
    'a worker',
    async () => (await workers(endpointId)).length === 1 && workers(endpointId),
  );
  await waitFor('its agent to know', () => agent.desired.length === 1);
  // The second consecutive crash: its back-off is 2 s.
  await core.sql`UPDATE worker SET failures = 1 WHERE id = ${first!.id}`;
  agent.send({
    workers: [{ workerId: first!.id, endpointId, state: WorkerState.UNHEALTHY, reason: 'boom', exitCode: 3 }],
  });
  const [second] = await waitFor(
    'another',
    async () => (await workers(endpointId))[0]?.id !== first!.id && workers(endpointId),
  );
  const [row] = await core.sql`
    SELECT second.created_at >= first.retry_at AS waited FROM worker first, worker second WHERE first.id = ${first!.id}
      AND second.id = ${second!.id}`;
  t.same(row, { waited: true });
});

t.test('a freed GPU: of a worker, of a pod, of a machine that joins or is uncordoned', async () => {
  const pods = podCalls(core.clients, core.key);
  const fields = { gpuIds: ['NVIDIA L4'], locations: ['NO'], workersMax: 1 };
  const waiting = await core.createEndpoint(fields);
  await refused(waiting);
  const agent = await core.joinAgent({ gpus: [L4], locations: ['NO'] });
  await core.ready(waiting);
  const next = await core.createEndpoint(fields);
  await refused(next);
  await core.updateEndpoint(waiting, { workersMin: 0, workersMax: 0 });
  await core.ready(next);
  await core.updateEndpoint(next, { workersMin: 0, workersMax: 0 });
  await count(next, 0);
  const pod = await pods.create({ ...L4_POD, locations: ['NO'] });
  await core.updateEndpoint(next, { workersMin: 1, workersMax: 1 });
  await refused(next);
  await pods.act('stopPod', pod.id);
  await core.ready(next);
  await core.updateEndpoint(next, { workersMin: 0, workersMax: 0 });
  await count(next, 0);
  const cordon = (cordoned: boolean) =>
    call(core.clients.machines, 'cordonMachine', { id: agent.machineId, cordoned }, core.rootKey);
  await cordon(true);
  await core.updateEndpoint(next, { workersMin: 1, workersMax: 1 });
  await refused(next);
  await cordon(false);
  await core.ready(next);
});
