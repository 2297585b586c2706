/** Workers that do not end a stopped job take no slot of workersMax. */

import { wishedChanges } from '@slipway/core/domain/scaling/scale-decision';
import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { sampledWorkers } from '@slipway/core/store/scaling/scale-samples';
import t from 'tap';

const settings: ScaleSettings = {
  workersMin: 0,
  workersMax: 2,
  idleTimeoutSeconds: 5,
  scalerType: 'REQUEST_COUNT',
  scalerValue: 1,
  flashBoot: false,
  version: 1,
};
const request = {
  imageName: '',
  gpuIds: [],
  gpuCount: 0,
  instanceIds: [],
  locations: [],
  allowedCudaVersions: [],
  dataCenterIds: [],
};
const worker = (id: string, blocked?: true): WorkerSample => ({
  id,
  machineId: 'm',
  gpus: 0,
  reachable: true,
  desired: 'RUN',
  state: 'READY',
  version: 1,
  held: 0,
  idleMs: 0,
  ageMs: 60_000,
  failures: 0,
  retryDue: false,
  ...(blocked && { blocked }),
});

/** Returns the target of workers, those that are to go and how many are to come, while `queued` jobs wait. */
function decided(workers: readonly WorkerSample[], queued: number, given: Partial<ScaleSettings> = {}) {
  const chosen = { ...settings, ...given };
  const demand = { queued, oldestWaitMs: 10_000, running: 0, workers: sampledWorkers(workers, chosen) };
  const { target, drain: going, add } = wishedChanges({ demand, settings: { ...chosen, ...request } });
  return { target, going, missing: add.length };
}

t.test('others are started in their stead', async (t) => {
  t.strictSame(decided([worker('a', true), worker('b')], 5), { target: 2, going: [], missing: 1 });
  t.strictSame(decided([worker('a', true), worker('b', true)], 5), { target: 2, going: [], missing: 2 });
});

t.test('at most workersMax of them', async (t) => {
  t.strictSame(decided([worker('a', true), worker('b', true), worker('c', true)], 5), {
    target: 2,
    going: [],
    missing: 1,
  });
  t.strictSame(
    decided([worker('a', true)], 5, { workersMax: 0 }),
    { target: 0, going: ['a'], missing: 0 },
    'and none of a paused endpoint',
  );
});

t.test('no job waits: nothing is started, and one that may go on is over workersMax', async (t) => {
  t.strictSame(decided([worker('a', true)], 0), { target: 0, going: [], missing: 0 });
  t.strictSame(decided([worker('a'), worker('b'), worker('c')], 0), { target: 2, going: ['a'], missing: 0 });
});
