// test: postgres
/**
 * Workers of a failed GPU end after their jobs and start on another; it returns when its agent reports it healthy, or
 * by hand after an error of the kernel log. A GPU can be cordoned alone. All of that is in its history.
 */
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { GpuLevel } from '@slipway/proto/gen/slipway/v1/machine_service';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../../helpers/reason-of.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { readMetrics, valueOf } from '../../../helpers/system/metrics.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t, 1, { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' });
const { clients, rootKey, sql } = core;
const gpu = (uuid: string, health: { unhealthy?: string; warning?: string; faultMark?: string } = {}) => ({
  ...{ uuid, name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' },
  ...health,
});
const XID = { unhealthy: 'Xid 79: it fell off the bus', faultMark: 'boot-1/0000000000000100' };
const page = (id: string) => call(clients.machines, 'getMachine', { id }, rootKey);
const gpus = async (id: string) => (await page(id)).status!.machine!.gpus;
const cordon = (id: string, gpuUuid: string, cordoned: boolean) =>
  call(clients.machines, 'cordonMachine', { id, cordoned, gpuUuid }, rootKey);
const problems = async () =>
  (await call(clients.problems, 'listProblems', { endpointId: '', limit: 100 }, rootKey)).problems;
/** Waits for a problem: they are read again every few seconds. */
const problem = (kind: string) => waitFor(kind, async () => (await problems()).find((each) => each.kind === kind));
const uuidsOf = async (endpointId: string): Promise<string[]> =>
  (
    await sql<{ uuid: string }[]>`
    SELECT gpu_uuids[1] AS uuid FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL AND desired = 'RUN'`
  ).map(({ uuid }) => uuid);

t.test('a failed GPU: its worker finishes its job and is replaced; the operator puts it back', async (t) => {
  const first = await core.joinAgent({
    ...{ locations: ['CZ'], gpus: [gpu('GPU-1')], onAssignment: () => undefined },
  });
  const { machineId } = first;
  const endpointId = await core.createEndpoint({ locations: ['CZ'], gpuIds: ['NVIDIA L4'], workersMax: 1 });
  await core.ready(endpointId);
  const { id: jobId } = await core.submit(endpointId);
  await waitFor('the job to run', () => first.assignments.length === 1);
  const ref = first.assignments[0]!.ref!;
  first.drop();
  const again = await core.joinAgent({
    ...{ locations: ['CZ'], machineId, gpus: [gpu('GPU-1', XID), gpu('GPU-2')] },
    ...{ workers: [{ workerId: ref.workerId, state: WorkerState.READY, capacity: 1 }], held: [ref] },
    ...{ onAssignment: () => undefined },
  });
  t.match(await gpus(machineId), [
    { uuid: 'GPU-1', unhealthy: XID.unhealthy, faultMark: XID.faultMark },
    { uuid: 'GPU-2', unhealthy: '' },
  ]);
  await waitFor('a worker on the other GPU', async () => (await uuidsOf(endpointId))[0] === 'GPU-2');
  again.finish(ref);
  t.match(await core.wait(endpointId, jobId), { state: JobState.COMPLETED, retries: 0 });
  t.match(await problem('GPU_UNHEALTHY'), {
    ...{ id: machineId, broken: true, text: /Xid 79: .*nvidia-smi --gpu-reset.*uncordon/ },
  });
  await cordon(machineId, 'GPU-1', false);
  t.match((await gpus(machineId))[0], { unhealthy: '', warning: /put back by its operator after: Xid 79/ });
  t.match(await problem('GPU_WARNING'), { broken: false, text: /put back/ });
  again.drop();
  const later = { ...XID, faultMark: 'boot-1/0000000000000200' };
  for (const [health, unhealthy] of [
    [XID, ''],
    [later, XID.unhealthy],
    [{}, ''],
  ] as const) {
    const next = await core.joinAgent({ locations: ['CZ'], machineId, gpus: [gpu('GPU-1', health)] });
    t.equal((await gpus(machineId))[0]!.unhealthy, unhealthy, 'the same event, the next one, and none');
    next.drop();
  }
  const { gpuEvents } = await page(machineId);
  t.same(
    gpuEvents.filter(({ gpuUuid }) => gpuUuid === 'GPU-1').map(({ level }) => level),
    [GpuLevel.OK, GpuLevel.FAILED, GpuLevel.WARNING, GpuLevel.FAILED],
    'the latest first',
  );
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
});

t.test('one GPU is cordoned: what runs stays, nothing new comes, also after a reconnect', async (t) => {
  const at = { locations: ['US'], gpus: [gpu('GPU-3', { warning: 'slowed down by heat' }), gpu('GPU-4')] };
  const agent = await core.joinAgent(at);
  const { machineId } = agent;
  t.match(await reasonOf(cordon(machineId, 'GPU-9', true)), /^NOT_FOUND.*GPU-3, GPU-4/);
  await cordon(machineId, 'GPU-3', true);
  const endpointId = await core.createEndpoint({ locations: ['US'], gpuIds: ['NVIDIA L4'] });
  await core.ready(endpointId);
  t.same(await uuidsOf(endpointId), ['GPU-4'], 'a warning alone would not keep it away');
  await cordon(machineId, 'GPU-4', true);
  await core.wait(endpointId, (await core.submit(endpointId)).id);
  t.same(await uuidsOf(endpointId), ['GPU-4'], 'its worker goes on');
  const metrics = await readMetrics(core.replicas[0]!.metrics);
  t.equal(valueOf(metrics, 'slipway_core_gpus', { state: 'unhealthy' }), 2);
  await waitFor(
    'a cordon to be no fault',
    async () => !(await problems()).some(({ kind }) => kind === 'GPU_UNHEALTHY'),
  );
  agent.drop();
  const again = await core.joinAgent({ ...at, machineId });
  t.match(await gpus(machineId), [
    { cordoned: true, unhealthy: /operator cordoned/, warning: /heat/ },
    { cordoned: true },
  ]);
  await cordon(machineId, 'GPU-3', false);
  t.match((await gpus(machineId))[0], { cordoned: false, unhealthy: '', warning: /heat/ });
  const audit = { accountId: '', pageSize: 0, pageToken: '', subjectId: machineId };
  const { events } = await call(clients.audit, 'listAuditEvents', audit, rootKey);
  t.match(
    events.find(({ action, refused }) => action === 'UncordonMachine' && refused === ''),
    {
      values: [
        { field: 'gpu', newJson: '"GPU-3"' },
        { field: 'cordoned', oldJson: 'true', newJson: 'false' },
      ],
    },
  );
  again.drop();
});
