/** Evaluations without an event: the instants and numbers of jobs from a sample, and the timers on a test clock. */

import { nextEvaluation } from '@slipway/core/domain/scaling/next-evaluation';
import type { DecisionSample } from '@slipway/core/domain/scaling/scale-decision';
import { wishedChanges } from '@slipway/core/domain/scaling/scale-decision';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { EvaluationTimers } from '@slipway/core/scaling/evaluation-timers';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const worker = (given: Partial<WorkerSample> = {}): WorkerSample => ({
  id: 'w',
  machineId: 'm',
  desired: 'RUN',
  state: 'READY',
  gpus: 0,
  reachable: true,
  version: 0,
  held: 0,
  idleMs: 0,
  ageMs: 60_000,
  failures: 0,
  retryDue: false,
  ...given,
});
const busy = (given: Partial<WorkerSample> = {}): WorkerSample => worker({ held: 1, ...given });
const sampleOf = (
  demand: Partial<DecisionSample['demand']>,
  settings: Partial<DecisionSample['settings']> = {},
): DecisionSample => ({
  demand: { queued: 0, oldestWaitMs: 0, running: 0, workers: [], ...demand },
  settings: {
    workersMin: 0,
    workersMax: 3,
    idleTimeoutSeconds: 5,
    scalerType: 'QUEUE_DELAY',
    scalerValue: 4,
    flashBoot: false,
    version: 0,
    imageName: '',
    gpuIds: [],
    gpuCount: 0,
    instanceIds: [],
    locations: [],
    allowedCudaVersions: [],
    dataCenterIds: [],
    ...settings,
  },
});
const COUNT = { scalerType: 'REQUEST_COUNT', scalerValue: 3 } as const;
const NEVER = { dueMs: Infinity, jobs: Infinity, waitMs: Infinity };

const NEXT: [what: string, sample: DecisionSample, wanted: Partial<typeof NEVER>][] = [
  ['nothing there', sampleOf({}), {}],
  ['a busy worker, nothing waits', sampleOf({ running: 1, workers: [busy()] }), { waitMs: 4_000 }],
  [
    'a job waits beside it',
    sampleOf({ queued: 1, oldestWaitMs: 1_500, running: 1, workers: [busy()] }),
    { dueMs: 2_500 },
  ],
  [
    'the worker is younger than the wait',
    sampleOf({ queued: 1, oldestWaitMs: 3_000, workers: [busy({ ageMs: 1_000 })] }),
    { dueMs: 3_000 },
  ],
  [
    'one is added now: the next after it',
    sampleOf({ queued: 1, oldestWaitMs: 4_000, workers: [busy()] }),
    { dueMs: 4_000 },
  ],
  ['a first job: the next after its worker', sampleOf({ queued: 1 }), { dueMs: 4_000 }],
  ['as many as there may be', sampleOf({ queued: 1, workers: [busy(), busy(), busy()] }), {}],
  ['idle for a while', sampleOf({ workers: [worker({ idleMs: 1_000 })] }), { dueMs: 4_000, waitMs: 4_000 }],
  [
    'idle, and workersMin wants it',
    sampleOf({ workers: [worker({ idleMs: 1_000 })] }, { workersMin: 1 }),
    { waitMs: 4_000 },
  ],
  ['a crash', sampleOf({ workers: [worker({ state: 'UNHEALTHY', retryMs: 800 })] }), { dueMs: 800, waitMs: 4_000 }],
  [
    'a crash of one that goes',
    sampleOf({ workers: [worker({ desired: 'DRAIN', state: 'UNHEALTHY', retryMs: 800 })] }),
    {},
  ],
  [
    'frozen',
    sampleOf({ workers: [worker({ desired: 'FREEZE', state: 'FROZEN', ageMs: 3_599_000 })] }),
    { dueMs: 1_000 },
  ],
  [
    'a standby worker that may stay for a minute',
    sampleOf({ workers: [worker({ desired: 'FREEZE', state: 'FROZEN', ageMs: 59_000 })] }, { standbySeconds: 60 }),
    { dueMs: 1_000 },
  ],
  ['REQUEST_COUNT: none for the second', sampleOf({ running: 1, workers: [busy()] }, COUNT), { jobs: 3 }],
  ['REQUEST_COUNT: some wait', sampleOf({ queued: 1, running: 1, workers: [busy()] }, COUNT), { jobs: 2 }],
  [
    'REQUEST_COUNT: more than those that are there do',
    sampleOf({ queued: 3, running: 1, workers: [busy()] }, COUNT),
    { jobs: 3 },
  ],
  ['REQUEST_COUNT: idle ones', sampleOf({ workers: [busy(), busy()] }, COUNT), { jobs: 7 }],
  ['REQUEST_COUNT: as many as there may be', sampleOf({ queued: 7, running: 1, workers: [busy()] }, COUNT), {}],
];

for (const [what, sample, wanted] of NEXT)
  t.test(what, async (t) => {
    t.same(nextEvaluation(sample, false, []), { ...NEVER, ...wanted });
  });

t.test('an unplaced endpoint only waits for capacity and for the end of a back-off', async (t) => {
  const sample = sampleOf({ queued: 3, oldestWaitMs: 1, running: 1, workers: [busy()] }, COUNT);
  t.same(nextEvaluation(sample, true, []), NEVER);
  const crashed = { machineId: 'm', failures: 1, workerId: 'w', exitCode: 1 };
  t.equal(
    nextEvaluation(sample, true, [
      { ...crashed, retryMs: 700 },
      { ...crashed, retryMs: 0 },
    ]).dueMs,
    700,
  );
});

t.test('the scaler wants one more worker at that instant or number of jobs, and not before', async (t) => {
  const [, waiting] = NEXT[2]!;
  const later = (sample: DecisionSample, ms: number): DecisionSample => ({
    ...sample,
    demand: {
      ...sample.demand,
      oldestWaitMs: sample.demand.oldestWaitMs + ms,
      workers: sample.demand.workers.map((each) => ({ ...each, ageMs: each.ageMs + ms })),
    },
  });
  const { dueMs } = nextEvaluation(waiting, false, []);
  t.same(
    [dueMs - 1, dueMs].map((ms) => wishedChanges(later(waiting, ms)).target),
    [1, 2],
  );
  for (const queued of [0, 1, 2]) {
    const counted = sampleOf({ queued, running: 1, workers: [busy()] }, COUNT);
    const { jobs } = nextEvaluation(counted, false, []);
    t.same(
      [jobs - 1, jobs].map(
        (more) => wishedChanges(sampleOf({ queued: queued + more, running: 1, workers: [busy()] }, COUNT)).target,
      ),
      [1, 2],
    );
  }
});

function looks() {
  const clock = new ManualClock();
  const asked: string[] = [];
  const next = new EvaluationTimers(clock, (id) => {
    asked.push(id);
  });
  return { clock, next, take: () => asked.splice(0).join() };
}

t.test('a timer is kept, moved by the next evaluation, and forgotten with its endpoint', async (t) => {
  const { clock, next, take } = looks();
  next.update('a', { ...NEVER, dueMs: 1_000 });
  next.update('b', { ...NEVER, dueMs: 1_000 });
  clock.pass(500);
  next.update('b', { ...NEVER, dueMs: 1_000 });
  clock.pass(510);
  t.equal(take(), 'a');
  next.update('b', NEVER);
  clock.pass(10_000);
  t.equal(take(), '');
  next.update('a', { ...NEVER, dueMs: 1 });
  next.stop();
  clock.pass(10_000);
  t.equal(take(), '');
});

t.test('jobs are counted from the begin of an evaluation, including ended ones', async (t) => {
  const { clock, next, take } = looks();
  const jobs = (more: number) => {
    next.jobsChanged('a', more);
    clock.pass(0);
  };
  jobs(9);
  t.equal(take(), '', 'of an endpoint that was not looked at');
  next.begin(['a']);
  jobs(2);
  next.update('a', { ...NEVER, jobs: 2 });
  clock.pass(0);
  t.equal(take(), 'a', 'they came while it was looked at, and may not have been seen');
  next.begin(['a']);
  next.update('a', { ...NEVER, jobs: 2 });
  jobs(1);
  jobs(-1);
  jobs(1);
  t.equal(take(), '');
  jobs(1);
  t.equal(take(), '', 'too soon after the last');
  clock.pass(50);
  t.equal(take(), 'a');
  jobs(5);
  clock.pass(1_000);
  t.equal(take(), '', 'once for each look');
  next.begin(['a']);
  next.update('a', { ...NEVER, jobs: 1 });
  next.keepOnly(new Set(['b']));
  jobs(1);
  t.equal(take(), '');
});

t.test('a waiting job sets a timer, here or elsewhere', async (t) => {
  const { clock, next, take } = looks();
  next.begin(['a']);
  next.update('a', { ...NEVER, waitMs: 1_000 });
  next.jobWaits('a', true);
  clock.pass(600);
  next.update('a', { ...NEVER, waitMs: 1_000 });
  next.jobWaits('a', false);
  clock.pass(410);
  t.equal(take(), 'a', 'the second moves nothing');
});

t.test('jobs of other replicas evaluate at most twice a second', async (t) => {
  const { clock, next, take } = looks();
  let count = 0;
  for (let ms = 0; ms < 5_000; ms += 10) {
    next.begin(['a']);
    next.update('a', { ...NEVER, jobs: 100 });
    next.jobWaits('a', true);
    clock.pass(10);
    if (take() === 'a') count += 1;
  }
  t.ok(count >= 9 && count <= 11, `${count} in 5 s`);
});
