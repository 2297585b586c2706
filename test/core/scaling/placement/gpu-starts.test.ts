// test: postgres
/** Starts by type of GPU: how the SLO scaler uses them, and how a real core reads them with the free slots. */

import type { SeenGpu } from '@slipway/core/domain/scaling/gpu-starts';
import { startsByGpu } from '@slipway/core/domain/scaling/gpu-starts';
import type { DecisionSample } from '@slipway/core/domain/scaling/scale-decision';
import { decide } from '@slipway/core/domain/scaling/scale-decision';
import type { ScaleSample, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { sloScaler } from '@slipway/core/domain/scaling/slo-scaler';
import type { GpuStarts, TrafficSample } from '@slipway/core/domain/scaling/traffic';
import { ASSUMED_TIMES, trafficSample } from '@slipway/core/domain/scaling/traffic';
import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { checkReplays } from '../../../fleet/fleet-checks.ts';
import { settingsOf } from '../../../fleet/scalers.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const [L4, A40] = ['NVIDIA L4', 'NVIDIA A40'];
const [QUICK_MS, SLOW_MS] = [5_000, 60_000];
const type = (gpu: string, places: number, startsMs: number[], workers: string[] = []): GpuStarts => ({
  gpu,
  places,
  startsMs,
  workers,
});
const worker = (given: Partial<WorkerSample>): WorkerSample => ({
  id: 'w',
  machineId: 'm',
  gpus: 1,
  reachable: true,
  desired: 'RUN',
  state: 'READY',
  version: 0,
  held: 0,
  idleMs: 0,
  ageMs: 0,
  failures: 0,
  retryDue: false,
  ...given,
});
/** Start times of all types together. */
const ALL: Partial<TrafficSample> = { startMs: SLOW_MS, startsMs: [QUICK_MS, QUICK_MS, SLOW_MS] };
const traffic = (byGpu: GpuStarts[] | undefined, given: Partial<TrafficSample> = {}): TrafficSample => ({
  arrivalsPerSecondNow: 0,
  arrivalsPerSecond: 0,
  arrivalsPerSecondLong: 0,
  arrivalsPerSecondHour: 0,
  executionMs: 10_000,
  startMs: 0,
  slots: 1,
  ...ALL,
  ...(byGpu && { byGpu }),
  ...given,
});
const sample = (given: Partial<ScaleSample>): ScaleSample => ({
  queued: 0,
  oldestWaitMs: 0,
  running: 0,
  workers: [],
  ...given,
});
const settings = (scalerValue: number) => settingsOf({ scalerType: 'SLO', scalerValue, workersMax: 60 });
const waiting = (byGpu?: GpuStarts[], workers: WorkerSample[] = []) =>
  sloScaler(sample({ queued: 24, traffic: traffic(byGpu), workers }), settings(60));

t.test('waiting jobs: as many workers as start them in time on the GPUs that they would get', async (t) => {
  const [quick, slow] = [type(L4, 100, [QUICK_MS]), type(A40, 100, [SLOW_MS])];
  t.match(
    waiting([quick, slow]),
    { workers: 4, reason: /a start on NVIDIA L4 takes 5 s/ },
    '23 of them within 60 s: each begins 6.5',
  );
  t.match(
    waiting([slow, quick]),
    { workers: 6, reason: /a start on NVIDIA A40 takes 60 s/ },
    'none could within 60 s: soon after, 4 each',
  );
  t.equal(
    waiting([type(L4, 1, [QUICK_MS]), slow]).workers,
    18,
    'one place of the quick ones is left: each of the others begins one job within 60 s',
  );
  t.match(waiting([type(L4, 0, [QUICK_MS]), slow]), { workers: 6, reason: /NVIDIA A40 takes 60 s/ }, 'none is left');
});

t.test('unknown or full types count like any GPU', async (t) => {
  const any = waiting();
  t.match(any.reason, /a start takes 60 s/);
  t.same(waiting([type('NVIDIA L40', 100, []), type(L4, 100, [QUICK_MS]), type(A40, 100, [SLOW_MS])]), any);
  t.same(waiting([type(L4, 0, [QUICK_MS]), type(A40, 0, [SLOW_MS])]), any);
});

t.test('a starting worker counts by its own type', async (t) => {
  const starting = worker({ id: 'starting', state: 'INITIALIZING' });
  const [quick, slow] = [type(L4, 100, [QUICK_MS]), type(A40, 100, [SLOW_MS])];
  t.equal(waiting([{ ...quick, workers: ['starting'] }, slow], [starting]).workers, 4, 'it is one of the four');
  t.equal(
    waiting([quick, { ...slow, workers: ['starting'] }], [starting]).workers,
    5,
    'it begins one in 60 s, and four others the rest',
  );
});

t.test('retained workers depend on the type where one more would start', async (t) => {
  const rare = (byGpu: GpuStarts[], workers: WorkerSample[] = []) =>
    sloScaler(sample({ traffic: traffic(byGpu, { arrivalsPerSecondLong: 0.006 }), workers }), settings(30));
  const slow = type(A40, 100, [SLOW_MS]);
  t.match(
    rare([type(L4, 1, [QUICK_MS]), slow]),
    { workers: 0, reason: /NVIDIA L4 takes 5 s/ },
    'a start is soon enough',
  );
  t.match(
    rare([type(L4, 0, [QUICK_MS]), slow]),
    { workers: 1, reason: /NVIDIA A40 takes 60 s/ },
    'others have the quick ones',
  );
  const idle = worker({ id: 'idle', idleMs: 60_000 });
  t.equal(
    rare([type(L4, 0, [QUICK_MS], ['idle']), slow], [idle]).workers,
    0,
    'its own worker has it, and would leave it to the next',
  );
});

t.test('older samples give the same recommendation', async (t) => {
  const none = 'a job waits and there is no worker (100 wait, the first for 0 s, 0 run; 0 jobs a minute of';
  t.same(sloScaler(sample({ queued: 100 }), settings(60)), {
    workers: 9,
    reason: `${none} 5 s, a start takes 10 s, not all of it measured yet)`,
  });
  const { startsMs: _, ...bare } = traffic(undefined, { startMs: 20_000 });
  t.same(sloScaler(sample({ queued: 100, traffic: bare }), settings(120)), {
    workers: 9,
    reason: `${none} 10 s, a start takes 20 s)`,
  });
});

t.test('a sample contains the assumptions for missing measurements', async (t) => {
  const nothing = { arrivedNow: 0, arrivedShort: 0, arrivedLong: 0, arrivedHour: 0, executed: 0, executionMs: 0 };
  const told = trafficSample(nothing, [], 1);
  t.same(told.assumed, ASSUMED_TIMES);
  t.equal(trafficSample({ ...nothing, executed: 2, executionMs: 4 }, [1], 1).assumed, undefined);
  const other = { ...told, assumed: { executionMs: 1_000, startsMs: [2_000] } };
  t.match(
    sloScaler(sample({ queued: 1, traffic: other }), settings(60)).reason,
    /of 1 s, a start takes 2 s, not all of it measured yet/,
    'and that counts',
  );
});

t.test('types in the order of placement', async (t) => {
  const seen = (name: string, places: number, startsMs: number[], migProfile = ''): SeenGpu => ({
    name,
    migProfile,
    places,
    workers: [],
    startsMs,
  });
  const all = [seen(A40, 9, [3, 1, 2]), seen(L4, 1, [4]), seen('NVIDIA L40', 5, []), seen(A40, 5, [7], '1g.5gb')];
  t.same(
    startsByGpu(all, [L4, A40]),
    [type(L4, 1, [4]), type(A40, 9, [1, 2, 3])],
    'as they are preferred; a slice of a card is another type',
  );
  t.same(
    startsByGpu(all, []).map(({ gpu }) => gpu),
    [A40, `${A40} MIG 1g.5gb`, 'NVIDIA L40', L4],
    'any: those with more places first',
  );
  t.same(startsByGpu(all, ['NVIDIA L40', A40]), [], 'starts on one type tell no more than starts on any');
});

t.test('a real core reads them: with other free slots the endpoint uses other starts', async (t) => {
  const core = await startReplicas(t);
  const gpu = (uuid: string, name: string) => ({
    uuid,
    name,
    memoryMib: name === L4 ? 24_576 : 49_152,
    migProfile: '',
  });
  const quick = await core.joinAgent({ gpus: [gpu('GPU-1', L4)] });
  const slow = await core.joinAgent({ gpus: [gpu('GPU-2', A40), gpu('GPU-3', A40)] });
  const endpointId = await core.createEndpoint({
    workersMin: 0,
    workersMax: 3,
    scalerType: ScalerType.SLO,
    scalerValue: 30,
    idleTimeoutSeconds: 1,
    gpuIds: [L4, A40],
  });
  const past = (id: string, machineId: string, uuid: string, ms: number) => core.sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, desired, state, gpu_uuids, created_at, ready_at, ended_at)
    VALUES (${id}, ${endpointId}, ${machineId}, 0, 'GONE', 'STOPPED', ${[uuid]}, now() - interval '1 hour',
      now() - interval '1 hour' + ${ms}::int * interval '1 ms', now())`;
  await past('before00000001', quick.machineId, 'GPU-1', QUICK_MS);
  await past('before00000002', slow.machineId, 'GPU-2', SLOW_MS);
  const zero = () =>
    waitFor(
      'zero',
      async () =>
        (await core.sql`SELECT FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL`).length === 0,
    );
  const added = async () => {
    await core.wait(endpointId, (await core.submit(endpointId)).id);
    const rows = await core.sql<{ reason: string; sample: DecisionSample }[]>`
      SELECT reason, sample FROM scale_log WHERE endpoint_id = ${endpointId} ORDER BY id`;
    return rows.findLast(({ reason }) => reason.startsWith('a job waits'))!;
  };
  const first = await added();
  t.match(first.reason, /a start on NVIDIA L4 takes 5 s/);
  t.match(first.sample.demand.traffic!.byGpu, [
    { gpu: L4, places: 1, startsMs: [QUICK_MS] },
    { gpu: A40, places: 2, startsMs: [SLOW_MS] },
  ]);
  await zero();
  await call(core.clients.machines, 'cordonMachine', { id: quick.machineId, cordoned: true }, core.rootKey);
  const second = await added();
  t.match(second.reason, /a start on NVIDIA A40 takes 60 s/);
  t.same(
    second.sample.demand.traffic!.byGpu!.map(({ gpu: name, places }) => [name, places]),
    [
      [L4, 0],
      [A40, 2],
    ],
  );
  t.equal(decide(first.sample).target, 1);
  t.same((await checkReplays(core.sql)).faults, []);
});
