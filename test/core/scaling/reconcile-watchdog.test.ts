// test: postgres
/**
 * Reconciles that do not end: what they wait for is logged, they are aborted, and their endpoints are retried. The test
 * moves the clock.
 */

import { chosenScaler } from '@slipway/core/domain/scaling/scale-target';
import { reconcileEndpoints } from '@slipway/core/scaling/reconcile';
import { reconcileBatch } from '@slipway/core/scaling/reconcile-batch';
import { ReconcileWatchdog } from '@slipway/core/scaling/reconcile-watchdog';
import { RunningJobs } from '@slipway/core/store/jobs/running-jobs';
import { ScaleStore } from '@slipway/core/store/scaling/scale-store';
import { PLACEMENT_LOCK } from '@slipway/core/store/scaling/standby-rows';
import type { TransactionWait } from '@slipway/core/store/scaling/transaction-monitor';
import { ReconcileTimeoutError } from '@slipway/core/store/scaling/transaction-monitor';
import { openDatabase } from '@slipway/core/store/sql/database';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { LIVE_MACHINES, startEngines } from '../../helpers/system/job-engine.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const SLOW_MS = 15_000;
const TIMEOUT_MS = 60_000;

const engines = await startEngines(t, { idle: true });
const { sql, endpoint } = engines;
await sql`UPDATE machine SET session_id = 'session', cpu_slots = 50 WHERE id = ${LIVE_MACHINES[0]!}`;

/** Starts a store with its own lock timeout, and a watchdog over it. */
async function start(settings = '') {
  const database = openDatabase(`${engines.url}${settings}`, { logger: createLogger('test', 'silent') });
  t.teardown(() => database.close());
  const store = new ScaleStore(database, new RunningJobs(database));
  const clock = new ManualClock();
  const said: object[] = [];
  const told: (TransactionWait | 'timed out')[] = [];
  const logger = { warn: (facts: object) => said.push(facts) } as unknown as ReturnType<typeof createLogger>;
  const meter = {
    onSlow: (wait: TransactionWait) => {
      told.push(wait);
    },
    onTimedOut: () => {
      told.push('timed out');
    },
  };
  const watch = new ReconcileWatchdog({ store, clock, logger, meter });
  const take = (ids: readonly string[]): Promise<boolean> =>
    watch.run(ids, async (monitor) => {
      const asked = ids.map((endpointId) => ({ endpointId, preemptible: [] }));
      return (await reconcileEndpoints(store, asked, chosenScaler, systemRandom, monitor)) !== undefined;
    });
  return { database, clock, said, told, take, watch };
}

const workers = async (endpointId: string): Promise<number> =>
  (await sql`SELECT FROM worker WHERE endpoint_id = ${endpointId}`).length;
const lockWaiter = () =>
  waitFor(
    'a reconcile to wait for the lock',
    async () =>
      (
        await sql`
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`
      ).length > 0,
  );

t.test('a reconcile that waits for a lock logs its holder, is aborted, writes nothing, and is retried', async (t) => {
  const { clock, said, told, take } = await start();
  const endpointId = await endpoint({ workers_min: 2, workers_max: 2 });
  await sql.begin(async (holder) => {
    await holder`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK}) /* the holder */`;
    const turn = t.rejects(take([endpointId]), ReconcileTimeoutError);
    await lockWaiter();
    clock.pass(SLOW_MS);
    await waitFor('it to be told', () => told.length > 0);
    t.same(told, ['lock']);
    t.match(said[0], {
      endpointIds: [endpointId],
      wait: 'lock',
      statement: /advisory/,
      holders: [{ state: 'idle in transaction', statement: /the holder/ }],
    });
    clock.pass(TIMEOUT_MS - SLOW_MS);
    await turn;
    t.same(told, ['lock', 'timed out']);
  });
  await waitFor(
    'its endpoint to be free',
    async () =>
      (
        await sql`
    SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM pg_database
      WHERE datname = current_database())`
      ).length === 0,
  );
  t.equal(await workers(endpointId), 0, 'nothing of it was done');
  t.ok(await take([endpointId]));
  t.equal(await workers(endpointId), 2);
});

t.test('a reconcile without a connection is aborted, and does nothing once it has one', async (t) => {
  const { database, clock, told, take } = await start();
  const endpointId = await endpoint({ workers_min: 1, workers_max: 1 });
  const free = Promise.withResolvers<void>();
  const busy = Array.from({ length: 8 }, () =>
    database.sql.begin(async (tx) => {
      await tx`SELECT 1`;
      await free.promise;
    }),
  );
  await waitFor(
    'all connections to be taken',
    async () =>
      (
        await sql`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'slipway-core'
      AND state = 'idle in transaction'`
      ).length >= 8,
  );
  const turn = t.rejects(take([endpointId]), ReconcileTimeoutError);
  clock.pass(SLOW_MS);
  await waitFor('it to be told', () => told.length > 0);
  clock.pass(TIMEOUT_MS - SLOW_MS);
  await turn;
  t.same(told, ['connection', 'timed out']);
  free.resolve();
  await Promise.all(busy);
  // The aborted transaction may hold its endpoint until it notices.
  await waitFor('it to be reconciled', async () => (await take([endpointId])) && (await workers(endpointId)) === 1);
});

t.test('a lock that is never released is not waited for', async (t) => {
  const plain = await start();
  for (const pool of [plain.database.sql, plain.database.hot, plain.database.urgent.sql])
    t.same(await pool`SHOW lock_timeout`, [{ lock_timeout: '30s' }]);
  const { take } = await start('?lock_timeout=300');
  const [first, held, last] = [
    await endpoint({ workers_min: 1 }),
    await endpoint({ workers_min: 0 }),
    await endpoint({ workers_min: 1 }),
  ] as const;
  const worker = 'held00000000';
  await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state, desired)
    VALUES (${worker}, ${held}, ${LIVE_MACHINES[0]!}, 99, 'READY', 'RUN')`;
  await sql.begin(async (holder) => {
    await holder`SELECT FROM worker WHERE id = ${worker} FOR UPDATE`;
    await t.rejects(reconcileBatch([held, first, last], take), { code: '55P03' });
    t.same([await workers(first), await workers(last)], [1, 1], 'the others were reconciled');
    await holder`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
    const more = await Promise.all([1, 2, 3].map(() => endpoint({ workers_min: 1 })));
    const tried: string[] = [];
    const takeAndTell = (ids: readonly string[]): Promise<boolean> => {
      tried.push(ids.join());
      return take(ids);
    };
    await t.rejects(reconcileBatch(more, takeAndTell), { code: '55P03' });
    t.same(tried, [more.join(), more[0], more[1]], 'where all need the lock, not all wait for it');
  });
  t.ok(await take([held]));
});
