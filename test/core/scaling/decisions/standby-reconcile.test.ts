/** Workers on standby: moves of their GPU memory that are late, and those that were on their GPU for an hour. */

import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { reconcileWorkers } from '@slipway/core/domain/scaling/worker-reconcile';
import t from 'tap';

const SETTINGS: ScaleSettings = {
  workersMin: 0,
  workersMax: 5,
  idleTimeoutSeconds: 5,
  scalerType: 'QUEUE_DELAY',
  scalerValue: 4,
  flashBoot: true,
  version: 1,
};
const worker = (id: string, given: Partial<WorkerSample> = {}): WorkerSample => ({
  id,
  machineId: 'm',
  gpus: 1,
  reachable: true,
  desired: 'FREEZE',
  state: 'FROZEN',
  version: 1,
  held: 0,
  idleMs: 15_000,
  ageMs: 10_000,
  failures: 0,
  retryDue: false,
  ...given,
});

t.test('a worker whose move is late ends, and another takes its place', async (t) => {
  const sample = { queued: 1, oldestWaitMs: 100, running: 0 };
  const late = { moveLate: true as const };
  const workers = [
    worker('back', { ...late, desired: 'RUN' }),
    worker('out', { ...late, offloaded: { gpuUuids: ['g'], restoreMs: 1 } }),
  ];
  const changes = reconcileWorkers({ ...sample, workers }, SETTINGS, { workers: 1, reason: '' });
  t.match(changes, { retire: ['back', 'out'], resume: [], restorable: [], drain: [], add: [{ failures: 0 }] });
});

t.test('after an hour on its GPU a standby worker goes to host memory, where it stays', async (t) => {
  const sample = { queued: 0, oldestWaitMs: 0, running: 0 };
  const old = { ageMs: 3_600_000 };
  const workers = [
    worker('gpu', old),
    worker('cpu', { ...old, gpus: 0 }),
    worker('host', { ...old, offloaded: { gpuUuids: ['g'], restoreMs: 1 } }),
    worker('young'),
  ];
  const none = { workers: 0, reason: '' };
  const changes = reconcileWorkers({ ...sample, workers }, SETTINGS, none);
  t.match(changes, { offload: ['gpu'], drain: ['cpu'] });
  t.strictSame(changes.drain, ['cpu']);
  const stays = reconcileWorkers({ ...sample, workers }, { ...SETTINGS, standby: 'GPU' }, none);
  t.strictSame([stays.offload, stays.drain], [[], ['gpu', 'cpu']]);
  const soon = reconcileWorkers({ ...sample, workers }, { ...SETTINGS, standbySeconds: 10 }, none);
  t.strictSame(soon.offload, ['gpu', 'young'], 'or after another time');
});
