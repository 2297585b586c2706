// test: postgres
/**
 * Statements that change several workers or jobs at once, of which others change the same at the same moment: none is
 * broken off by PostgreSQL.
 */

import type { WorkerAction } from '@slipway/core/domain/scaling/place-workers';
import type { Decision } from '@slipway/core/domain/scaling/scale-decision';
import type { OutcomeEntry } from '@slipway/core/store/jobs/outcome-store';
import type { WorkerFacts } from '@slipway/core/store/machines/worker-store';
import { lockedInOrder } from '@slipway/core/store/sql/worker-order';
import t from 'tap';
import { LIVE_MACHINES, slotsOn, startEngines, submission } from '../../../helpers/system/job-engine.ts';
import { seededRandom } from '../../../helpers/time/seeded-random.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const ROUNDS = 40;
const COUNT = 40;
const [machineId] = LIVE_MACHINES;
const engines = await startEngines(t, { replicas: 2, idle: true });
const {
  sql,
  replicas: [first, second],
} = engines;
const random = seededRandom();
const shuffled = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, place: random.fraction() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);

/** Runs each of them over and over beside the others. */
async function together(works: readonly (() => Promise<unknown>)[]): Promise<void> {
  await Promise.all(
    works.map(async (work) => {
      for (let round = 0; round < ROUNDS; round += 1) await work();
    }),
  );
}

t.test(
  'workers: reports, crashes, signs of use, drains, freezes, wakes, and what is given up, gives way or is evicted',
  async (t) => {
    const endpointId = await engines.endpoint();
    let made = 0;
    /** Starts so many workers. Returns their ids. */
    const start = async (count: number): Promise<string[]> => {
      const fresh = Array.from({ length: count }, () => `worker${String((made += 1)).padStart(8, '0')}`);
      for (const id of shuffled(fresh)) {
        await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state)
          VALUES (${id}, ${endpointId}, ${machineId}, 1, 'READY')`;
      }
      return fresh;
    };
    let ids = await start(COUNT);
    const session = { machineId, sessionId: 'session' };
    let reports = 0;
    const some = (): string[] => shuffled(ids).slice(0, COUNT / 2);
    const fact = {
      state: 'READY',
      capacity: 1,
      reason: '',
      exitCode: null,
      address: '',
      health: '',
      singleUse: false,
    } as const;
    const facts = (): WorkerFacts[] =>
      some().map((workerId) => ({ ...fact, workerId, sdkVersion: String((reports += 1)) }));
    /** Returns the facts with the first worker crashed. */
    const crash = ([one, ...others]: WorkerFacts[]): WorkerFacts[] => [...others, { ...one!, state: 'UNHEALTHY' }];
    await sql`UPDATE machine SET standby_max = ${COUNT} WHERE id = ${machineId}`;
    type Action = Exclude<WorkerAction['do'], 'ADD'> | 'EVICT';
    const commit = (what: Action): Promise<unknown> => {
      const actions =
        what === 'EVICT'
          ? [{ do: 'ADD', failures: 0, machineId, gpuUuids: [], instanceId: '', evicted: some() }]
          : some().map((workerId) => ({ do: what, workerId }));
      return first!.stores.scales.reconcile([endpointId], async (_id, turn) => {
        await turn.commit({ actions } as unknown as Decision, () => 'taking');
      });
    };
    const drain = async (): Promise<void> => {
      await commit('FREEZE');
      await commit('WAKE');
      for (const what of ['DRAIN', 'PREEMPT', 'RETIRE'] as const) {
        await commit(what);
        await again('RUN');
      }
      await again('FREEZE');
      await commit('EVICT');
      await sql`DELETE FROM worker WHERE id = 'taking'`;
      await again('RUN');
    };
    /** Gives all workers this desired state. Ended ones never return: others start in their place. */
    const again = async (desired: 'RUN' | 'FREEZE'): Promise<void> => {
      const living = await sql<{ id: string }[]>`UPDATE worker w SET desired = ${desired}
        FROM ${lockedInOrder(sql, sql`id = ANY(${ids}) AND ended_at IS NULL`)} AS l WHERE w.id = l.id RETURNING w.id`;
      ids = [...living.map(({ id }) => id), ...(await start(COUNT - living.length))];
    };
    await t.resolves(
      together([
        drain,
        () => first!.stores.workers.touch(some(), [], []),
        () => second!.stores.workers.touch(some(), some(), some()),
        () => first!.stores.workers.report(session, facts()),
        () => second!.stores.workers.report(session, random.below(4) > 0 ? facts() : crash(facts())),
      ]),
    );
  },
);

t.test('workers: a reconcile that retires and drains some, and a drain of their machine', async (t) => {
  const endpointId = await engines.endpoint();
  const [crashed, idle] = ['workerlate0001', 'workerlate0002'];
  await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state) VALUES
    (${crashed}, ${endpointId}, ${LIVE_MACHINES[1]}, 1, 'UNHEALTHY'),
    (${idle}, ${endpointId}, ${LIVE_MACHINES[1]}, 1, 'READY')`;
  let isOver = false;
  const isOverOrWaits = async (): Promise<boolean> => {
    const rows = await sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return isOver || rows.length > 0;
  };
  const actions = [
    { do: 'RETIRE', workerId: crashed },
    { do: 'DRAIN', workerId: idle },
  ];
  const drains: Promise<unknown>[] = [];
  const reconciled = first!.stores.scales.reconcile([endpointId], async (_id, turn) => {
    await turn.commit({ actions } as unknown as Decision, () => '');
    // It holds the placement lock, which the reconcile takes next.
    const drain = second!.stores.drains.drain(LIVE_MACHINES[1], { deadlineMs: undefined, reason: '' }, 'key');
    drains.push(
      drain.finally(() => {
        isOver = true;
      }),
    );
    await waitFor('the drain to end, or to wait for a row', isOverOrWaits);
  });
  await t.resolves(reconciled);
  await t.resolves(Promise.all(drains));
  t.match(
    await sql`SELECT desired, ended_at IS NOT NULL AS ended FROM worker WHERE endpoint_id = ${endpointId}
    ORDER BY id`,
    [
      { desired: 'GONE', ended: true },
      { desired: 'DRAIN', ended: false },
    ],
  );
});

t.test('jobs: those that wait in hand, and ends of attempts', async (t) => {
  const endpointId = await engines.endpoint();
  for (let i = 0; i < COUNT; i += 1) await engines.engine.calls.submit(submission(endpointId));
  const claimed = await engines.engine.attempts.claim(endpointId, slotsOn(endpointId, COUNT));
  t.equal(claimed.length, COUNT);
  const rule = { final: 'FAILED', requeueBelow: 0, counted: false } as const;
  const entries: OutcomeEntry[] = claimed.map((job) => ({ ...job, rule, output: undefined, error: 'lost' }));
  entries.sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
  await t.resolves(
    together([
      () => first!.stores.attempts.postpone(shuffled(claimed)),
      () => second!.stores.attempts.postpone(shuffled(claimed)),
      () => second!.stores.outcomes.record(entries.splice(0, 2)),
    ]),
  );
});

t.test('jobs: many that are cancelled or queued again, and those that wait in hand', async (t) => {
  const endpointId = await engines.endpoint();
  for (let i = 0; i < COUNT; i += 1) await engines.engine.calls.submit(submission(endpointId));
  const claimed = await engines.engine.attempts.claim(endpointId, slotsOn(endpointId, COUNT));
  const walkOf = (move: 'cancel' | 'retry') =>
    first!.stores.jobs.beginWalk({
      endpointId,
      move,
      states: move === 'cancel' ? ['IN_QUEUE', 'IN_PROGRESS'] : ['FAILED', 'TIMED_OUT'],
      submitted: undefined,
    });
  const some = (nextPosition: number) =>
    shuffled(claimed)
      .slice(0, COUNT / 2)
      .map(({ jobId }) => ({ jobId, position: 1, nextPosition }));
  let moved = 0;
  const change = (stores: typeof engines.stores) => async (): Promise<void> => {
    moved += (await stores.jobs.cancelMatching({ ...(await walkOf('cancel')), range: { low: 0, high: 1e9 } }, some(0)))
      .length;
    moved += (
      await stores.jobs.retryMatching({ ...(await walkOf('retry')), range: { low: 0, high: 1e9 } }, some(1_000))
    ).length;
  };
  /** Makes cancelled jobs run again or fail again. */
  const again = (): Promise<unknown> => sql`
    WITH l AS (
      SELECT id, CASE WHEN right(id, 4) < '8000' THEN 'FAILED' ELSE 'IN_PROGRESS' END AS state FROM job
      WHERE endpoint_id = ${endpointId} ORDER BY id FOR UPDATE
    )
    UPDATE job j SET state = l.state, machine_id = ${machineId}, worker_id = 'worker', attempt = 1, started_at = now(),
      execution_deadline_at = CASE WHEN l.state = 'IN_PROGRESS' THEN now() + interval '1 h' END, finished_at = CASE
        WHEN l.state = 'FAILED' THEN now() END
    FROM l WHERE j.endpoint_id = ${endpointId} AND j.id = l.id`;
  await t.resolves(
    together([
      change(first!.stores),
      change(second!.stores),
      () => first!.stores.attempts.postpone(shuffled(claimed)),
      again,
    ]),
  );
  t.ok(moved > COUNT, `${moved} were moved`);
});
