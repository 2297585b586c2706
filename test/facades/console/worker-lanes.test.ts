/** The lanes of the time line of workers: who stands where, and what each was at. */

import type { WorkerView } from '@slipway/facades/console/views';
import { workerLoadText } from '@slipway/facades/console/web/src/charts/gpu-load';
import { lanesOf, phasesOf, timeIn } from '@slipway/facades/console/web/src/endpoint/worker-lanes';
import t from 'tap';

const NOW = 100_000;
const worker = (id: string, fields: Partial<WorkerView> = {}): WorkerView => ({
  id,
  machineId: 'm1',
  state: 'READY',
  held: 0,
  capacity: 1,
  version: 1,
  reason: '',
  gpus: [],
  loads: [],
  load: null,
  createdMs: 1_000,
  readyMs: 2_000,
  endedMs: 0,
  crashedMs: 0,
  retryMs: 0,
  busy: [],
  frozen: [],
  sdkVersion: '',
  standby: '',
  gpuBytes: 0,
  offloadMs: 0,
  restoreMs: 0,
  ...fields,
});
const shape = (workers: readonly WorkerView[]) =>
  lanesOf(workers).map(({ machineId, lanes }) => [
    machineId,
    ...lanes.map(({ name, workers: those }) => `${name}: ${those.map(({ id }) => id).join(' ')}`),
  ]);

t.test('a lane for each set of GPUs of a machine, and for each slot without one', async (t) => {
  const uuid = 'GPU-0123456789abcdef';
  t.same(
    shape([
      worker('later', { createdMs: 5_000, gpus: [uuid] }),
      worker('first', { endedMs: 4_000, gpus: [uuid] }),
      worker('pair', { gpus: ['GPU-2', 'GPU-1'] }),
      worker('other', { machineId: 'm0' }),
      worker('none'),
      worker('beside', { createdMs: 1_500 }),
      worker('after', { createdMs: 3_000 }),
    ]),
    [
      ['m0', 'CPU slot 1: other'],
      [
        'm1',
        'CPU slot 1: none',
        'CPU slot 2: beside',
        'CPU slot 3: after',
        'GPU …abcdef: first later',
        'GPU GPU-1, GPU-2: pair',
      ],
    ],
    'by machine, the first first; a place is taken again only when it is free',
  );
  t.same(
    shape([
      worker('one', { endedMs: 3_000 }),
      worker('two', { createdMs: 2_999 }),
      worker('three', { createdMs: 3_000 }),
    ]),
    [['m1', 'CPU slot 1: one three', 'CPU slot 2: two']],
    'in the moment in which it ended, not before',
  );
  t.same(
    shape([
      worker('frozen', { state: 'FROZEN', gpus: ['GPU-1'] }),
      worker('runs', { createdMs: 9_000, gpus: ['GPU-1'] }),
    ]),
    [['m1', 'GPU GPU-1: frozen', 'GPU GPU-1, 2: runs']],
    'whoever is frozen has handed its GPU on',
  );
  t.same(lanesOf([]), []);
});

t.test('the states of a worker: starting, ready, busy, frozen, crashed', async (t) => {
  t.same(
    phasesOf(
      worker('w', {
        busy: [
          [10_000, 20_000],
          [90_000, 0],
        ],
        frozen: [[30_000, 60_000]],
      }),
      NOW,
    ),
    [
      { kind: 'ran', fromMs: 2_000, toMs: NOW },
      { kind: 'starting', fromMs: 1_000, toMs: 2_000 },
      { kind: 'busy', fromMs: 10_000, toMs: 20_000 },
      { kind: 'busy', fromMs: 90_000, toMs: NOW },
      { kind: 'standby', fromMs: 30_000, toMs: 60_000 },
    ],
  );
  const starting = phasesOf(worker('w', { state: 'INITIALIZING', readyMs: 0 }), NOW);
  t.same(
    starting,
    [
      { kind: 'ran', fromMs: NOW, toMs: NOW },
      { kind: 'starting', fromMs: 1_000, toMs: NOW },
    ],
    'until now',
  );
  const crashed = phasesOf(
    worker('w', { state: 'UNHEALTHY', endedMs: 50_000, busy: [[40_000, 0]], frozen: [[45_000, 70_000]] }),
    NOW,
  );
  t.same(
    crashed.filter(({ toMs }) => toMs > 50_000),
    [],
    'nothing goes on after its end',
  );
  t.same(crashed.at(-1), { kind: 'crashed', fromMs: 50_000, toMs: 50_000 });
  t.same(
    phasesOf(
      worker('w', { state: 'UNHEALTHY', createdMs: 40_000, readyMs: 0, crashedMs: 41_000, endedMs: 90_000 }),
      NOW,
    ),
    [
      { kind: 'ran', fromMs: 41_000, toMs: 41_000 },
      { kind: 'starting', fromMs: 40_000, toMs: 41_000 },
      { kind: 'crashed', fromMs: 41_000, toMs: 90_000 },
    ],
    'crashed from the exit on, not starting until its row ends',
  );
  t.notOk(
    phasesOf(worker('w', { endedMs: 50_000 }), NOW).some(({ kind }) => kind === 'crashed'),
    'it was told to end',
  );
});

t.test('time in each state since a moment', async (t) => {
  const phases = phasesOf(
    worker('w', {
      busy: [
        [10_000, 20_000],
        [90_000, 0],
      ],
      frozen: [[30_000, 60_000]],
    }),
    NOW,
  );
  t.equal(timeIn('busy', phases, 0), 20_000);
  t.equal(timeIn('busy', phases, 15_000), 15_000, 'a stretch that had begun counts from then on');
  t.equal(timeIn('standby', phases, 60_000), 0);
});

t.test('the use of a worker, or that it is not measured', async (t) => {
  const measured = worker('a', { load: { processors: 0.5, memoryMib: 312 } });
  t.equal(workerLoadText(measured, NOW), '0.5\u00A0processors, 312\u00A0MiB');
  t.equal(workerLoadText(worker('b'), NOW), 'processors and memory not measured');
  t.equal(workerLoadText(worker('c', { readyMs: NOW - 5_000 }), NOW), '', 'not measured yet');
  t.equal(workerLoadText(worker('d', { state: 'UNHEALTHY' }), NOW), '');
});
