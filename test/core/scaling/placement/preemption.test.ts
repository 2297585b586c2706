/** Preemption: which workers with only low-priority jobs must free their GPUs. */
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import type { PreemptibleWorker } from '@slipway/core/domain/scaling/preemption';
import { preemptibleWorkers, workersToPreempt } from '@slipway/core/domain/scaling/preemption';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';
import t from 'tap';
import { asked, machine } from './scarce-machines.ts';

const A40 = 'NVIDIA A40';

const leaving = (
  id: string,
  machineId: string,
  gpuUuids: string[],
  draining = false,
  accountId = 'own',
): PreemptibleWorker => ({ id, accountId, machineId, gpuUuids, draining });
const PREEMPTIONS: [
  what: string,
  machines: PlacementMachine[],
  gpuCount: number,
  wanted: number,
  workers: PreemptibleWorker[],
  asked: string[],
][] = [
  ['one for one', [machine('a', 1, 1)], 1, 1, [leaving('w', 'a', ['a-0'])], ['w']],
  [
    'no more than are wanted',
    [machine('a', 2, 2)],
    1,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1'])],
    ['w'],
  ],
  ['none while a GPU is free', [machine('a', 2, 1)], 1, 1, [leaving('w', 'a', ['a-0'])], []],
  [
    'none while another goes already',
    [machine('a', 2, 2)],
    1,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1'], true)],
    [],
  ],
  [
    'several of one machine for one large',
    [machine('a', 2, 2)],
    2,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1'])],
    ['w', 'v'],
  ],
  [
    'of the machine where the fewest must go',
    [machine('a', 2, 2), machine('b', 2, 1)],
    2,
    1,
    [leaving('w', 'a', ['a-0']), leaving('v', 'a', ['a-1']), leaving('u', 'b', ['b-0'])],
    ['u'],
  ],
  ['none where that makes no room', [machine('a', 2, 2)], 2, 1, [leaving('w', 'a', ['a-0'])], []],
  ['none that has another type', [machine('a', 1, 1, A40)], 1, 1, [leaving('w', 'a', ['a-0'])], []],
  ['none of an account that has less', [machine('a', 1, 1)], 1, 1, [leaving('w', 'a', ['a-0'], false, 'poor')], []],
  ['one of an account that has more', [machine('a', 1, 1)], 1, 1, [leaving('w', 'a', ['a-0'], false, 'rich')], ['w']],
  [
    'none of an account that has more and a greater weight',
    [machine('a', 1, 1)],
    1,
    1,
    [leaving('w', 'a', ['a-0'], false, 'heavy')],
    [],
  ],
  [
    'none that goes already, for one more',
    [machine('a', 2, 2)],
    1,
    2,
    [leaving('w', 'a', ['a-0'], true), leaving('v', 'a', ['a-1'])],
    ['v'],
  ],
  ['none for a worker without a GPU', [machine('a', 1, 1)], 0, 1, [leaving('w', 'a', ['a-0'])], []],
];
for (const [what, machines, gpuCount, wanted, workers, expected] of PREEMPTIONS) {
  t.test(`preemption: ${what}`, async (t) => {
    const others = [
      { accountId: 'poor', gpus: 2, weight: 1 },
      { accountId: 'rich', gpus: 9, weight: 1 },
      { accountId: 'heavy', gpus: 9, weight: 9 },
    ];
    t.same(
      workersToPreempt(machines, asked(gpuCount), wanted, {
        own: { accountId: 'own', gpus: 2, weight: 1 },
        others,
        workers,
      }),
      expected,
    );
  });
}

t.test('preemption evaluates few machines for each of 400 workers, as others wait meanwhile', async (t) => {
  const machines = Array.from({ length: 200 }, (_, index) => machine(`m${index}`, 8, 8));
  const workers = machines.flatMap(({ id, gpus }) => gpus.map(({ uuid }) => leaving(uuid, id, [uuid])));
  let evaluations = 0;
  const request = {
    ...asked(1),
    get gpuCount() {
      evaluations += 1;
      return 1;
    },
  };
  const asks = workersToPreempt(machines, request, 400, {
    own: { accountId: 'own', gpus: 1_600, weight: 1 },
    others: [],
    workers,
  });
  t.ok(evaluations < 50_000, `evaluated ${evaluations} times`);
  t.same(
    asks,
    workers.slice(0, 400).map(({ id }) => id),
    'whole machines',
  );
});

t.test('only workers with low-priority jobs are preemptible, beyond the minimum', async (t) => {
  const worker = {
    machineId: 'a',
    desired: 'RUN',
    state: 'READY',
    gpus: 1,
    reachable: true,
    version: 1,
    held: 1,
    idleMs: 0,
    ageMs: 0,
    failures: 0,
    retryDue: false,
  } as const;
  const [low, busy] = [{ ...worker, id: 'low', lowOnly: true } as const, { ...worker, id: 'busy' }];
  const ids = (queued: number, workersMin: number, workers: readonly WorkerSample[]) =>
    preemptibleWorkers({ queued, oldestWaitMs: 0, running: 1, workers }, { workersMin }).map(({ id }) => id);
  t.same(ids(0, 0, [low, busy]), ['low']);
  t.same(ids(0, 1, [low, busy]), ['low']);
  t.same(ids(0, 2, [low, busy]), [], 'workersMin keeps it');
  t.same(ids(1, 0, [low, busy]), [], 'a job of normal priority comes to it next');
  t.same(
    ids(0, 0, [
      { ...low, gpus: 0 },
      { ...low, state: 'DRAINING', desired: 'DRAIN' },
    ]),
    [],
    'it has nothing to give, or goes',
  );
});
