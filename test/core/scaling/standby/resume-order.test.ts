/**
 * In which order a worker comes back, by expected durations: before the first measurement and after it. On its GPU,
 * from host memory on free GPUs, by a swap, anew.
 */
import { NO_QUOTA } from '@slipway/core/domain/accounts/quota';
import { expectedOffloadMs, expectedRestoreMs } from '@slipway/core/domain/machines/standby';
import { placeAll } from '@slipway/core/domain/scaling/place-workers';
import { bestOf } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { sloScaler } from '@slipway/core/domain/scaling/slo-scaler';
import type { RestorableWorker } from '@slipway/core/domain/scaling/standby-restore';
import { asMovable, withMovable } from '@slipway/core/domain/scaling/standby-restore';
import { reconcileWorkers } from '@slipway/core/domain/scaling/worker-reconcile';
import t from 'tap';
import { engine, gpu, L4, machine } from '../placement/placement-inputs.ts';

const GIB = 2 ** 30;
const OFFLOAD = { limitBytes: 500 * GIB, usedBytes: 0, offloaded: [] };

/** Returns a worker in host memory that needs this GPU. `measured`: its latest restore. */
const inHost = (
  workerId: string,
  uuid: string,
  gib: number,
  measured?: number,
  startMs?: number,
): RestorableWorker => ({
  workerId,
  machineId: 'm',
  gpuUuids: [uuid],
  restoreMs: expectedRestoreMs(gib * GIB, measured === undefined ? undefined : { bytes: gib * GIB, ms: measured }),
  ...(startMs !== undefined && { startMs }),
});
/** Returns a worker on standby on this GPU. `measured`: its latest offload. */
const onGpu = (workerId: string, uuid: string, gib: number, measured?: number) => ({
  workerId,
  gpuUuids: [uuid],
  instanceId: '',
  frozenMs: 1_000,
  offloadBytes: gib * GIB,
  offloadMs: expectedOffloadMs(gib * GIB, measured === undefined ? undefined : { bytes: gib * GIB, ms: measured }),
});
const withStandbys = (uuids: readonly string[], standbys: PlacementMachine['standbys']): PlacementMachine =>
  machine('m', {
    gpus: uuids.map((uuid) =>
      gpu(uuid, 'NVIDIA L4', { standby: standbys.some(({ gpuUuids }) => gpuUuids.includes(uuid)) }),
    ),
    standbys,
    offload: OFFLOAD,
  });
/** Places one worker that is missing. */
const placeOne = (candidates: PlacementMachine[], restorable: readonly RestorableWorker[], request = L4) => {
  const refused = { counts: {}, byMachine: '' };
  const fleet = { request, candidates, refused, quota: NO_QUOTA, standbyRoom: {}, restorable };
  return placeAll(fleet, [{ failures: 0 }], [], NO_QUOTA);
};
const actionOn = (candidates: PlacementMachine[], restorable: readonly RestorableWorker[], request = L4) =>
  placeOne(candidates, restorable, request).actions[0]!;

t.test('from host memory on a free GPU comes before any swap, however long either takes', async (t) => {
  const there = withStandbys(['free', 'held'], [onGpu('other', 'held', 1)]);
  const [slow, quick] = [inHost('slow', 'free', 64), inHost('quick', 'held', 1)];
  t.match(actionOn([there], [quick, slow]), { do: 'RESTORE', workerId: 'slow', expectedMs: 13_150 });
  t.match(actionOn([there], [quick, inHost('slow', 'free', 64, 60_000)]), { workerId: 'slow', expectedMs: 60_000 });
});

t.test('the soonest of several swaps: by bytes before the first measurement, then as measured', async (t) => {
  const there = (measured?: number) =>
    withStandbys(['a', 'b'], [onGpu('small', 'a', 2), onGpu('large', 'b', 16, measured)]);
  const [first, second] = [inHost('first', 'a', 8), inHost('second', 'b', 8)];
  const assumed = actionOn([there()], [second, first]);
  t.match(assumed, { do: 'RESTORE', workerId: 'first', offloaded: ['small'] });
  t.match(assumed, { expectedMs: 1_100 + 1_950 }, '0.55 s a GiB out, 0.35 s and 0.2 s a GiB back');
  t.match(actionOn([there(900)], [first, second]), { workerId: 'second', offloaded: ['large'], expectedMs: 2_850 });
  const slower = inHost('second', 'b', 8, 2_500);
  t.match(actionOn([there(900)], [slower, first]), { workerId: 'first' }, 'the way back counts too');
});

t.test('a swap against a cold start on a free GPU: the sooner one; where all are in use, the swap', async (t) => {
  const there = withStandbys(['held', 'free'], [onGpu('other', 'held', 64)]);
  // 35.2 s out and 13.15 s back, unless measured.
  const swap = (startMs?: number) => actionOn([there], [inHost('back', 'held', 64, undefined, startMs)]);
  t.match(swap(), { do: 'RESTORE', workerId: 'back', expectedMs: 48_350 }, 'its cold start is not known');
  t.match(swap(60_000), { do: 'RESTORE', workerId: 'back', offloaded: ['other'] });
  t.match(swap(24_000), { do: 'ADD', gpuUuids: ['free'], evicted: [] });
  const measured = withStandbys(['held', 'free'], [onGpu('other', 'held', 64, 10_000)]);
  const quick = inHost('back', 'held', 64, 4_000, 24_000);
  t.match(actionOn([measured], [quick]), { do: 'RESTORE', expectedMs: 14_000 }, 'measured to be sooner');
  const full = withStandbys(['held'], [onGpu('other', 'held', 64)]);
  const only = inHost('back', 'held', 64, undefined, 1_000);
  t.match(actionOn([full], [only]), { do: 'RESTORE' }, 'a cold start would need the same GPU');
  const image = { ...L4, imageName: 'me/worker:1' };
  const runs = { ...there, engine };
  t.match(actionOn([{ ...runs, hasImage: true }], [only], image), { do: 'ADD' });
  t.match(actionOn([runs], [only], image), { do: 'RESTORE' }, 'where its image must be pulled first');
});

t.test('on its GPU comes first', async (t) => {
  const settings: ScaleSettings = {
    workersMin: 0,
    workersMax: 3,
    idleTimeoutSeconds: 5,
    scalerType: 'QUEUE_DELAY',
    scalerValue: 4,
    flashBoot: true,
    version: 1,
  };
  const standby = (id: string, given: Partial<WorkerSample> = {}): WorkerSample => ({
    id,
    machineId: 'm',
    gpus: 1,
    reachable: true,
    desired: 'FREEZE',
    state: 'FROZEN',
    version: 1,
    held: 0,
    idleMs: 9_000,
    ageMs: 9_000,
    failures: 0,
    retryDue: false,
    ...given,
  });
  const offloaded = { gpuUuids: ['a'], restoreMs: 1 };
  const workers = [standby('host', { offloaded, ageMs: 1 }), standby('gpu')];
  const wants = (count: number) =>
    reconcileWorkers({ queued: 1, oldestWaitMs: 1, running: 0, workers }, settings, { workers: count, reason: '' });
  t.match(wants(1), { resume: ['gpu'], add: [], restorable: [] });
  t.match(wants(2), { resume: ['gpu'], add: [{ failures: 0 }], restorable: ['host'] });
});

t.test('the SLO scaler counts on a worker in host memory by its own restore', async (t) => {
  const settings: ScaleSettings = {
    workersMin: 0,
    workersMax: 20,
    idleTimeoutSeconds: 5,
    scalerType: 'SLO',
    scalerValue: 10,
    flashBoot: true,
    version: 1,
  };
  const traffic = {
    arrivalsPerSecondNow: 0,
    arrivalsPerSecond: 0,
    arrivalsPerSecondLong: 0,
    arrivalsPerSecondHour: 0,
    executionMs: 4_000,
    startMs: 60_000,
    startsMs: [60_000],
    slots: 1,
  };
  const wanted = (restoreMs: number): number => {
    const worker: WorkerSample = {
      id: 'w',
      machineId: 'm',
      gpus: 1,
      reachable: true,
      desired: 'FREEZE',
      state: 'FROZEN',
      version: 1,
      held: 0,
      idleMs: 0,
      ageMs: 0,
      failures: 0,
      retryDue: false,
      offloaded: { gpuUuids: ['a'], restoreMs },
    };
    const workers = Array.from({ length: 20 }, (_, index) => ({ ...worker, id: `w${index}` }));
    return sloScaler({ queued: 12, oldestWaitMs: 0, running: 0, traffic, workers }, settings).workers;
  };
  const assumed = wanted(expectedRestoreMs(8 * GIB));
  const slow = wanted(expectedRestoreMs(8 * GIB, { bytes: 8 * GIB, ms: 30_000 }));
  const quick = wanted(expectedRestoreMs(8 * GIB, { bytes: 8 * GIB, ms: 400 }));
  t.ok(quick <= assumed && assumed < slow, `more workers the later they are back: ${quick}, ${assumed}, ${slow}`);
});

t.test('a running worker that has no place in host memory keeps its GPU', async (t) => {
  const runs = { id: 'runs', machineId: 'm', gpuUuids: ['a'], bytes: 10 * GIB, offloadMs: 1, idleMs: 1 };
  const used = machine('m', { gpus: [gpu('a', 'NVIDIA L4', { used: true })] });
  const seen = (limitGib: number) =>
    withMovable([{ ...used, offload: { ...OFFLOAD, limitBytes: limitGib * GIB } }], [runs]).map(asMovable);
  t.match(bestOf(seen(10), L4), { gpuUuids: ['a'], offloaded: ['runs'], evicted: [] });
  t.equal(bestOf(seen(9), L4), undefined);
  t.match(placeOne(seen(9), []), { actions: [], throttled: 1, refusal: /GPU/ });
});
