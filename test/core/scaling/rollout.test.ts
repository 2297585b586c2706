// test: 10 s
/** Effects of a release on serving workers: in a model over many generated endpoints, and case by case. */

import { HELD_DAYS_MAX, scaledSettings } from '@slipway/core/domain/scaling/rollout';
import type { Rollout } from '@slipway/core/domain/scaling/rollout-settings';
import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';
import type { World } from './rollout-model.ts';
import { RolloutModel } from './rollout-model.ts';

const TICKS_MAX = 400;

/** Endpoints with serving workers. `spare`: GPUs beyond workersMax. */
const world = (bad: number[], spare: number): fc.Arbitrary<World> =>
  fc
    .record({
      min: fc.integer({ min: 1, max: 4 }),
      more: fc.nat(2),
      startTicks: fc.integer({ min: 1, max: 9 }),
      drainTicks: fc.integer({ min: 1, max: 20 }),
      jobs: fc.nat(5),
    })
    .map(({ min, more, ...rest }) => ({
      ...rest,
      gpus: min + more + spare,
      bad,
      settings: { workersMin: min, workersMax: min + more },
    }));

/** Runs until nothing changes. Returns the lowest number of ready workers relative to the target, since the release. */
function releaseIn(given: World): { model: RolloutModel; fewest: number; before: number } {
  const model = new RolloutModel(given);
  for (let tick = 0; tick < 60; tick += 1) model.tick();
  const before = model.ready;
  model.release();
  let fewest = Infinity;
  let quiet = 0;
  for (let tick = 0; tick < TICKS_MAX && quiet < 30; tick += 1) {
    model.tick();
    fewest = Math.min(fewest, model.ready - Math.min(before, model.target));
    quiet = model.decision!.actions.length === 0 && model.decision!.rollout === undefined ? quiet + 1 : 0;
  }
  if (quiet < 30) throw new Error(`it does not come to an end: ${JSON.stringify(given)}`);
  return { model, fewest, before };
}

const holds = (
  what: string,
  given: fc.Arbitrary<World>,
  check: (of: ReturnType<typeof releaseIn>, given: World) => boolean,
): void => {
  t.test(what, async (t) => {
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(given, (one) => check(releaseIn(one), one)),
        { seed: SEED, numRuns: 150 },
      ),
    );
  });
};
const versions = ({ workers }: RolloutModel): number[] => [...new Set(workers.map(({ version }) => version))];

holds(
  'a good version with room: never fewer ready than before, one more than workersMax at the most, and all of the ' +
    'new one in the end',
  world([], 1),
  ({ model, fewest }, { settings }) =>
    fewest >= 0 &&
    model.rollout.state === 'COMPLETE' &&
    model.rollout.goodVersion === 2 &&
    String(versions(model)) === '2' &&
    model.mostAlive <= settings.workersMax! + 1,
);

holds(
  'a version whose workers do not start: none that serves goes, it is held, and the good one goes on',
  world([2], 1),
  ({ model, fewest, before }) =>
    fewest >= 0 &&
    model.rollout.state === 'HELD' &&
    model.rollout.goodVersion === 1 &&
    String(versions(model)) === '1' &&
    model.ready >= Math.min(before, model.target),
);

holds(
  'every GPU taken, a good version: one makes room for one',
  world([], 0),
  ({ model, fewest }) => fewest >= -1 && model.rollout.state === 'COMPLETE' && String(versions(model)) === '2',
);

holds(
  'every GPU taken, a version whose workers do not start: one makes room, and comes back',
  world([2], 0),
  ({ model, fewest, before }) =>
    fewest >= -1 &&
    model.rollout.state === 'HELD' &&
    String(versions(model)) === '1' &&
    model.ready >= Math.min(before, model.target),
);

t.test('a version on hold: the next one is tried, and serves', async (t) => {
  const { model } = releaseIn({ gpus: 3, startTicks: 2, drainTicks: 1, jobs: 2, bad: [2], settings: {} });
  t.equal(model.rollout.state, 'HELD');
  model.release();
  for (let tick = 0; tick < 60; tick += 1) model.tick();
  t.same([model.rollout.state, model.rollout.goodVersion, versions(model)], ['COMPLETE', 3, [3]]);
});

t.test('another release during a rollout: starting workers stop, serving ones stay', async (t) => {
  const model = new RolloutModel({
    gpus: 4,
    startTicks: 3,
    drainTicks: 1,
    jobs: 2,
    bad: [2],
    settings: { workersMax: 3 },
  });
  for (let tick = 0; tick < 20; tick += 1) model.tick();
  model.release();
  for (let tick = 0; tick < 2; tick += 1) model.tick();
  model.release();
  for (let tick = 0; tick < 60; tick += 1) {
    model.tick();
    t.ok(model.ready >= 2, 'two are ready');
  }
  t.same([model.rollout.state, versions(model)], ['COMPLETE', [3]]);
});

t.test('at once: serving workers stop, whatever becomes of the new ones', async (t) => {
  const model = new RolloutModel({ gpus: 4, startTicks: 3, drainTicks: 1, jobs: 0, bad: [2], settings: {} });
  for (let tick = 0; tick < 20; tick += 1) model.tick();
  model.release(true);
  for (let tick = 0; tick < 30; tick += 1) model.tick();
  t.same([model.ready, versions(model)], [0, [2]]);
});

t.test('an idle endpoint: the new version is started once, and put on hold if it does not start', async (t) => {
  for (const [bad, state] of [
    [[2], 'HELD'],
    [[], 'COMPLETE'],
  ] as const) {
    const model = new RolloutModel({
      gpus: 1,
      startTicks: 2,
      drainTicks: 1,
      jobs: 0,
      bad,
      settings: { workersMin: 1, workersMax: 1 },
    });
    for (let tick = 0; tick < 20; tick += 1) model.tick();
    const asleep = new RolloutModel({
      gpus: 1,
      startTicks: 2,
      drainTicks: 1,
      jobs: 0,
      bad,
      settings: { workersMin: 0, workersMax: 1 },
    });
    asleep.rollout = model.rollout;
    asleep.release();
    for (let tick = 0; tick < 40; tick += 1) asleep.tick();
    t.same([asleep.rollout.state, asleep.rollout.checked, asleep.workers.length], [state, true, 0]);
  }
});

const settings = (version: number): ScaleSettings => ({
  workersMin: 0,
  workersMax: 5,
  idleTimeoutSeconds: 5,
  scalerType: 'QUEUE_DELAY',
  scalerValue: 4,
  flashBoot: true,
  version,
});
const worker = (given: Partial<WorkerSample>): WorkerSample => ({
  id: 'a',
  machineId: 'm',
  gpus: 1,
  reachable: true,
  desired: 'RUN',
  state: 'READY',
  version: 1,
  held: 0,
  idleMs: 0,
  ageMs: 60_000,
  failures: 0,
  retryDue: false,
  ...given,
});
const DAY_MS = 86_400_000;

/** Returns the scaled version and its phase. */
const SCALED: [
  what: string,
  rollout: Partial<Rollout>,
  workers: Partial<WorkerSample>[],
  version: number,
  phase: string | undefined,
][] = [
  ['a complete one', { state: 'COMPLETE' }, [{}], 2, undefined],
  ['one ready worker of before: the new version starts beside it', {}, [{}], 1, 'BESIDE'],
  ['none is ready: nobody would miss them', {}, [{ state: 'INITIALIZING' }], 2, 'REPLACE'],
  ['a frozen one of the good version serves as well', {}, [{ desired: 'FREEZE', state: 'FROZEN' }], 1, 'BESIDE'],
  ['what is kept is of the version before: the release is new', { version: 1, state: 'COMPLETE' }, [{}], 1, 'BESIDE'],
  ['one came up: the others are replaced', { state: 'ROLLING' }, [{}], 2, 'REPLACE'],
  ['held: the good one is scaled', { state: 'HELD' }, [], 1, 'REPLACE'],
  ['held for too long: no more', { state: 'HELD', ageMs: HELD_DAYS_MAX * DAY_MS + 1 }, [{}], 2, 'AT_ONCE'],
  ['rolled back: for as long as nobody releases', { state: 'ROLLED_BACK', ageMs: 400 * DAY_MS }, [], 1, 'REPLACE'],
  ['at once', { state: 'REPLACING' }, [{}], 2, 'AT_ONCE'],
];

for (const [what, rollout, workers, version, phase] of SCALED) {
  t.test(what, async (t) => {
    const kept: Rollout = {
      version: 2,
      state: 'CHECKING',
      goodVersion: 1,
      roomMade: false,
      checked: false,
      reason: '',
      ageMs: 0,
      ...rollout,
    };
    const scaled = scaledSettings(settings(2), settings(1), kept, workers.map(worker), 1);
    t.same([scaled.version, scaled.rollout?.phase], [version, phase]);
  });
}
