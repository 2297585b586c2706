/**
 * Changes of workers from a recommendation: busy workers are never idle, crashed ones are retried after their back-off,
 * outdated ones replaced.
 */

import { crashPauseSeconds } from '@slipway/core/domain/machines/worker';
import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { reconcileWorkers } from '@slipway/core/domain/scaling/worker-reconcile';
import t from 'tap';

const settings = (given: Partial<ScaleSettings> = {}): ScaleSettings => ({
  workersMin: 0,
  workersMax: 5,
  idleTimeoutSeconds: 5,
  scalerType: 'QUEUE_DELAY',
  scalerValue: 4,
  flashBoot: false,
  version: 1,
  ...given,
});
const worker = (id: string, given: Partial<WorkerSample> = {}): WorkerSample => ({
  id,
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
const idle = { idleMs: 5_000 };
/** Frozen for ten seconds. */
const asleep = (id: string, given: Partial<WorkerSample> = {}): WorkerSample =>
  worker(id, { desired: 'FREEZE', state: 'FROZEN', ageMs: 10_000, idleMs: 15_000, ...given });
const FLASH = { flashBoot: true };
const crashed = { state: 'UNHEALTHY', failures: 3 } as const;

interface Row {
  what: string;
  workers: WorkerSample[];
  settings?: Partial<ScaleSettings>;
  wanted: number;
  add?: number[];
  wake?: string[];
  freeze?: string[];
  drain?: string[];
  retire?: string[];
}

const ROWS: Row[] = [
  { what: 'adds what is missing', workers: [], wanted: 2, add: [0, 0] },
  { what: 'never more than workersMax', workers: [], wanted: 9, settings: { workersMax: 3 }, add: [0, 0, 0] },
  { what: 'never fewer than workersMin', workers: [], wanted: 0, settings: { workersMin: 2 }, add: [0, 0] },
  { what: 'initializing workers count', workers: [worker('a', { state: 'INITIALIZING' })], wanted: 1 },
  { what: 'an idle worker stays until idleTimeout', workers: [worker('a', { idleMs: 4_999 })], wanted: 0 },
  { what: 'then it is drained', workers: [worker('a', idle)], wanted: 0, drain: ['a'] },
  {
    what: 'under a lowered workersMax the busy go last, after those that start',
    workers: [worker('a', { held: 1 }), worker('b', { state: 'INITIALIZING' })],
    wanted: 2,
    settings: { workersMax: 1 },
    drain: ['b'],
  },
  {
    what: 'not below workersMin',
    workers: [worker('a', idle), worker('b', idle)],
    wanted: 0,
    settings: { workersMin: 1 },
    drain: ['a'],
  },
  { what: 'a busy worker is never idle', workers: [worker('a', { ...idle, held: 1 })], wanted: 0 },
  {
    what: 'the longest idle goes first',
    workers: [worker('a', idle), worker('b', { idleMs: 9_000 })],
    wanted: 1,
    drain: ['b'],
  },
  {
    what: 'a lower workersMax drains idle ones',
    workers: [worker('a', { held: 1 }), worker('b')],
    wanted: 2,
    settings: { workersMax: 1 },
    drain: ['b'],
  },
  {
    what: 'and busy ones when it must',
    workers: [worker('a', { held: 1 }), worker('b', { held: 2 })],
    wanted: 2,
    settings: { workersMax: 1 },
    drain: ['a'],
  },
  {
    what: 'workersMax 0 drains all',
    workers: [worker('a', { held: 1 }), worker('b')],
    wanted: 2,
    settings: { workersMax: 0 },
    drain: ['a', 'b'],
  },
  { what: 'a crashed worker keeps its place', workers: [worker('a', crashed)], wanted: 1 },
  {
    what: 'until its back-off has passed',
    workers: [worker('a', { ...crashed, retryDue: true })],
    wanted: 1,
    add: [3],
    retire: ['a'],
  },
  { what: 'a further one is of the same series', workers: [worker('a', crashed)], wanted: 2, add: [3] },
  { what: 'unless one has come up', workers: [worker('a', crashed), worker('b')], wanted: 3, add: [0] },
  { what: 'it is given up when nobody wants it', workers: [worker('a', crashed)], wanted: 0, retire: ['a'] },
  {
    what: 'and when it was told to go in that moment',
    workers: [worker('a', { ...crashed, desired: 'DRAIN' })],
    wanted: 1,
    add: [0],
    retire: ['a'],
  },
  {
    what: 'outdated workers are drained and replaced',
    workers: [worker('a', { version: 0, held: 1 })],
    wanted: 1,
    add: [0],
    drain: ['a'],
  },
  {
    what: 'an outdated crashed one is given up',
    workers: [worker('a', { ...crashed, version: 0 })],
    wanted: 1,
    add: [0],
    retire: ['a'],
  },
  { what: 'draining workers do not count', workers: [worker('a', { desired: 'DRAIN', held: 1 })], wanted: 1, add: [0] },
  {
    what: 'FlashBoot freezes what idleness would take',
    workers: [worker('a', idle)],
    wanted: 0,
    settings: FLASH,
    freeze: ['a'],
  },
  { what: 'not before idleTimeout', workers: [worker('a', { idleMs: 4_999 })], wanted: 0, settings: FLASH },
  {
    what: 'not when the endpoint shall have no workers',
    workers: [worker('a', idle)],
    wanted: 0,
    settings: { ...FLASH, workersMax: 0 },
    drain: ['a'],
  },
  {
    what: 'not an outdated one',
    workers: [worker('a', { ...idle, version: 0 })],
    wanted: 0,
    settings: FLASH,
    drain: ['a'],
  },
  {
    what: 'not one that starts',
    workers: [worker('a', { ...idle, state: 'INITIALIZING' })],
    wanted: 0,
    settings: FLASH,
  },
  {
    what: 'not one that a lower workersMax takes before it is idle',
    workers: [worker('a', { held: 1 }), worker('b')],
    wanted: 2,
    settings: { ...FLASH, workersMax: 1 },
    drain: ['b'],
  },
  {
    what: 'a frozen one is woken before any is started',
    workers: [asleep('a')],
    wanted: 2,
    settings: FLASH,
    wake: ['a'],
    add: [0],
  },
  {
    what: 'the last frozen first',
    workers: [asleep('a'), asleep('b', { ageMs: 5_000 })],
    wanted: 1,
    settings: FLASH,
    wake: ['b'],
  },
  {
    what: 'one that is only about to be frozen too',
    workers: [asleep('a', { state: 'READY' })],
    wanted: 1,
    settings: FLASH,
    wake: ['a'],
  },
  {
    what: 'not one whose machine is away',
    workers: [asleep('a', { reachable: false })],
    wanted: 1,
    settings: FLASH,
    add: [0],
  },
  {
    what: 'frozen ones do not count',
    workers: [asleep('a'), worker('b', { held: 1 })],
    wanted: 1,
    settings: { ...FLASH, workersMax: 1 },
  },
  {
    what: 'without a GPU they go after an hour',
    workers: [asleep('a', { ageMs: 3_600_000, gpus: 0 })],
    wanted: 0,
    settings: FLASH,
    drain: ['a'],
  },
  {
    what: 'with their version',
    workers: [asleep('a', { version: 0 })],
    wanted: 1,
    settings: FLASH,
    drain: ['a'],
    add: [0],
  },
  { what: 'when FlashBoot is switched off', workers: [asleep('a')], wanted: 0, drain: ['a'] },
  {
    what: 'when workersMax is 0',
    workers: [asleep('a')],
    wanted: 1,
    settings: { ...FLASH, workersMax: 0 },
    drain: ['a'],
  },
  {
    what: 'one that died asleep is given up',
    workers: [asleep('a', crashed)],
    wanted: 1,
    settings: FLASH,
    retire: ['a'],
    add: [0],
  },
];

for (const row of ROWS) {
  t.test(row.what, async (t) => {
    const sample = { queued: 0, oldestWaitMs: 0, running: 0, workers: row.workers };
    const changes = reconcileWorkers(sample, settings(row.settings), { workers: row.wanted, reason: 'r' });
    t.same(
      changes.add.map((added) => added.failures),
      row.add ?? [],
    );
    t.same(changes.resume, row.wake ?? []);
    t.same(changes.freeze.toSorted(), row.freeze ?? []);
    t.same(changes.drain.toSorted(), row.drain ?? []);
    t.same(changes.retire.toSorted(), row.retire ?? []);
  });
}

t.test('the back-off after a crash', async (t) => {
  t.same(
    [1, 2, 3, 4, 5].map((failures) => crashPauseSeconds(failures, true)),
    [0, 1, 2, 4, 8],
    'at once for the first of a worker that had been ready',
  );
  t.same(
    [1, 2, 3, 9, 10, 60].map((failures) => crashPauseSeconds(failures, false)),
    [1, 2, 4, 256, 300, 300],
    'never longer than 300 s',
  );
});

t.test('busy and recently idle workers are part of the target, with the reason', async (t) => {
  const sample = { queued: 0, oldestWaitMs: 0, running: 1, workers: [worker('a', { held: 1 }), worker('b')] };
  const changes = reconcileWorkers(sample, settings(), { workers: 0, reason: 'r' });
  t.match(changes, {
    target: 2,
    wished: 2,
    reason: 'r, and workers are busy, starting or not idle for long',
    limits: [],
  });
});
