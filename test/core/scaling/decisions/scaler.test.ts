/** The scalers' tables (docs/reference/management.md#scaling). */

import { chosenScaler } from '@slipway/core/domain/scaling/scale-target';
import type { ScaleSample, ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import t from 'tap';

const settings = (given: Partial<ScaleSettings> = {}): ScaleSettings => ({
  workersMin: 0,
  workersMax: 5,
  idleTimeoutSeconds: 5,
  scalerType: 'QUEUE_DELAY',
  scalerValue: 4,
  flashBoot: false,
  version: 0,
  ...given,
});
const worker = (given: Partial<WorkerSample> = {}): WorkerSample => ({
  id: 'w',
  machineId: 'm',
  gpus: 1,
  reachable: true,
  desired: 'RUN',
  state: 'READY',
  version: 0,
  held: 0,
  idleMs: 0,
  ageMs: 60_000,
  failures: 0,
  retryDue: false,
  ...given,
});
const sample = (given: Partial<ScaleSample> = {}): ScaleSample => ({
  queued: 0,
  oldestWaitMs: 0,
  running: 0,
  workers: [],
  ...given,
});

const ROWS: [what: string, sample: ScaleSample, settings: ScaleSettings, wanted: number][] = [
  ['QUEUE_DELAY: nothing to do', sample(), settings(), 0],
  ['QUEUE_DELAY: the first queued job starts one worker', sample({ queued: 1 }), settings(), 1],
  ['QUEUE_DELAY: a hundred jobs start one worker', sample({ queued: 100 }), settings(), 1],
  ['QUEUE_DELAY: short waits add none', sample({ queued: 9, oldestWaitMs: 3_999, workers: [worker()] }), settings(), 1],
  ['QUEUE_DELAY: a long wait adds one', sample({ queued: 9, oldestWaitMs: 4_000, workers: [worker()] }), settings(), 2],
  [
    'QUEUE_DELAY: one at a time',
    sample({ queued: 9, oldestWaitMs: 60_000, workers: [worker(), worker({ ageMs: 3_999 })] }),
    settings(),
    2,
  ],
  [
    'QUEUE_DELAY: the next after another scalerValue',
    sample({ queued: 9, oldestWaitMs: 60_000, workers: [worker(), worker({ ageMs: 4_000 })] }),
    settings(),
    3,
  ],
  [
    'QUEUE_DELAY: initializing workers count',
    sample({ queued: 1, oldestWaitMs: 100, workers: [worker({ state: 'INITIALIZING', ageMs: 100 })] }),
    settings(),
    1,
  ],
  [
    'QUEUE_DELAY: draining workers do not',
    sample({ queued: 1, workers: [worker({ desired: 'DRAIN' })] }),
    settings(),
    1,
  ],
  [
    'QUEUE_DELAY: nor do outdated ones',
    sample({ queued: 1, workers: [worker({ version: 0 })] }),
    settings({ version: 1 }),
    1,
  ],
  [
    'QUEUE_DELAY: an empty queue wants the busy ones',
    sample({ running: 2, workers: [worker({ held: 2 }), worker()] }),
    settings(),
    1,
  ],
  ['REQUEST_COUNT: nothing to do', sample(), settings({ scalerType: 'REQUEST_COUNT' }), 0],
  ['REQUEST_COUNT: rounds up', sample({ queued: 5 }), settings({ scalerType: 'REQUEST_COUNT' }), 2],
  [
    'REQUEST_COUNT: running jobs count',
    sample({ queued: 5, running: 4 }),
    settings({ scalerType: 'REQUEST_COUNT' }),
    3,
  ],
  ['REQUEST_COUNT: one each', sample({ queued: 3 }), settings({ scalerType: 'REQUEST_COUNT', scalerValue: 1 }), 3],
];

for (const [what, given, chosen, wanted] of ROWS) {
  t.test(what, async (t) => {
    const recommended = chosenScaler(given, chosen);
    t.equal(recommended.workers, wanted);
    t.ok(recommended.reason.length > 0, 'says why');
  });
}
