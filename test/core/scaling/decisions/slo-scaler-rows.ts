/** Samples of endpoints with the SLO scaler, and what it decides of each. */

import type { ScaleSample, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import type { TrafficSample } from '@slipway/core/domain/scaling/traffic';

export const worker = (given: Partial<WorkerSample> = {}): WorkerSample => ({
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
const busy = (count: number): WorkerSample[] => Array.from({ length: count }, () => worker({ held: 1 }));
export const traffic = (given: Partial<TrafficSample> = {}): TrafficSample => ({
  arrivalsPerSecondNow: 0,
  arrivalsPerSecond: 0,
  arrivalsPerSecondLong: 0,
  arrivalsPerSecondHour: 0,
  executionMs: 10_000,
  startMs: 20_000,
  slots: 1,
  ...given,
});
const steady = (perSecond: number): Partial<TrafficSample> => ({
  arrivalsPerSecondNow: perSecond,
  arrivalsPerSecond: perSecond,
  arrivalsPerSecondLong: perSecond,
});
/** 40 jobs in the last hour and none lately: a pause of 90 s is usual, one of 6 min is not. */
const HOURLY: Partial<TrafficSample> = { arrivalsPerSecondHour: 40 / 3_600 };
export const sample = (given: Partial<ScaleSample> = {}): ScaleSample => ({
  queued: 0,
  oldestWaitMs: 0,
  running: 0,
  workers: [],
  traffic: traffic(),
  ...given,
});
export const ROWS: [what: string, sample: ScaleSample, target: number, wanted: number, reason: RegExp][] = [
  ['nothing to do', sample(), 5, 0, /no job waits/],
  [
    'nothing was ever measured: the first job starts one',
    sample({ queued: 1, traffic: undefined }),
    60,
    1,
    /not all of it measured yet/,
  ],
  [
    'a hundred jobs of 10 s within 120 s, with a start of 20 s: each worker begins 11 of them in time',
    sample({ queued: 100 }),
    120,
    9,
    /100 wait/,
  ],
  [
    'the same, with little time: as many as begin them soon after they are there',
    sample({ queued: 100 }),
    5,
    48,
    /a start takes 20 s/,
  ],
  [
    'workers that start already count by what is left of their start',
    sample({ queued: 100, workers: [...Array(9)].map(() => worker({ state: 'INITIALIZING', ageMs: 0 })) }),
    120,
    9,
    /will be started within/,
  ],
  [
    'what a new worker could not better starts none',
    sample({ queued: 1, oldestWaitMs: 4_000, workers: busy(1) }),
    5,
    1,
    /as soon as new workers could/,
  ],
  [
    'what would be late starts one',
    sample({ queued: 6, oldestWaitMs: 25_000, workers: busy(1) }),
    60,
    2,
    /would wait longer than 60 s/,
  ],
  ['several jobs a worker', sample({ queued: 100, traffic: traffic({ slots: 10 }) }), 120, 1, /10 jobs a worker/],
  [
    'frozen workers count from when they wake',
    sample({ queued: 24, workers: [worker({ desired: 'FREEZE', state: 'FROZEN' })] }),
    120,
    2,
    /a job waits/,
  ],
  [
    'jobs that come are expected: 10 at work on average need some more',
    sample({ workers: busy(10), traffic: traffic(steady(1)) }),
    5,
    14,
    /will come/,
  ],
  [
    'rare jobs keep one where a start alone would be too long',
    sample({ traffic: traffic({ arrivalsPerSecondLong: 0.006 }) }),
    5,
    1,
    /will come/,
  ],
  [
    'jobs that are too rare keep none',
    sample({ traffic: traffic({ arrivalsPerSecondLong: 0.003 }) }),
    5,
    0,
    /too seldom/,
  ],
  [
    'unless the hour tells that this is but a pause',
    sample({ workers: [worker({ idleMs: 200_000 })], traffic: traffic(HOURLY) }),
    5,
    1,
    /will come/,
  ],
  [
    'a pause longer than any means that they have stopped',
    sample({ workers: [worker({ idleMs: 400_000 })], traffic: traffic(HOURLY) }),
    5,
    0,
    /too seldom/,
  ],
  [
    'jobs of a week that come by ten thousand a second: as many as anybody could have, without counting up to billions',
    sample({ traffic: traffic({ ...steady(10_000), executionMs: 604_800_000 }) }),
    5,
    1_000_000,
    /will come/,
  ],
  ['nor does the hour start one anew', sample({ traffic: traffic(HOURLY) }), 5, 0, /too seldom/],
  [
    'nor do rare ones where a start is soon enough',
    sample({ traffic: traffic({ arrivalsPerSecondLong: 0.006 }) }),
    30,
    0,
    /no longer than 30 s/,
  ],
  [
    'a stream that has ended is believed to have',
    sample({ traffic: traffic({ arrivalsPerSecond: 0.4, arrivalsPerSecondLong: 1 }) }),
    30,
    0,
    /no job waits/,
  ],
];
