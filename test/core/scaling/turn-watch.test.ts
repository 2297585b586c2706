// test: postgres
/** Turns that come to no end: what they wait for is told, they are given up, and their endpoints are taken again. The test moves the clock. */
import t from 'tap';
import { systemRandom } from '../../../core/runtime/clock.ts';
import { createLogger } from '../../../core/runtime/logger.ts';
import { chosenScaler } from '../../../core/domain/chosen-scaler.ts';
import { scaleEndpoints } from '../../../core/scaling/scale-endpoint.ts';
import { togetherOrApart } from '../../../core/scaling/together-or-apart.ts';
import { TurnWatch } from '../../../core/scaling/turn-watch.ts';
import { openDatabase } from '../../../core/store/database.ts';
import { RunningJobs } from '../../../core/store/running-jobs.ts';
import { ScaleStore } from '../../../core/store/scale-store.ts';
import { PLACEMENT_LOCK } from '../../../core/store/standby-rows.ts';
import { TurnsGivenUpError } from '../../../core/store/turn-course.ts';
import type { TurnWait } from '../../../core/store/turn-course.ts';
import { LIVE_MACHINES, startEngines } from '../../helpers/job-engine.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const LONG_MS = 15_000;
const TURNS_MS_MAX = 60_000;

const engines = await startEngines(t, { idle: true });
const { sql, endpoint } = engines;
await sql`UPDATE machine SET session_id = 'session', cpu_slots = 50 WHERE id = ${LIVE_MACHINES[0]!}`;

/** A store of its own, whose locks are waited for as long as the settings say, and a watch over it. */
async function start(settings = '') {
  const database = openDatabase(`${engines.url}${settings}`, { logger: createLogger('test', 'silent') });
  t.teardown(() => database.close());
  const store = new ScaleStore(database, new RunningJobs(database));
  const clock = new ManualClock();
  const said: object[] = [];
  const told: (TurnWait | 'given up')[] = [];
  const logger = { warn: (facts: object) => said.push(facts) } as unknown as ReturnType<typeof createLogger>;
  const meter = { onLong: (wait: TurnWait) => { told.push(wait); }, onGivenUp: () => { told.push('given up'); } };
  const watch = new TurnWatch({ store, clock, logger, meter });
  const take = (ids: readonly string[]): Promise<boolean> => watch.over(ids, async (course) => {
    const asked = ids.map((endpointId) => ({ endpointId, dispensable: [] }));
    return await scaleEndpoints(store, asked, chosenScaler, systemRandom, course) !== undefined;
  });
  return { database, clock, said, told, take, watch };
}

const workers = async (endpointId: string): Promise<number> => (await sql`SELECT FROM worker WHERE endpoint_id = ${endpointId}`).length;
const lockWaiter = () => waitFor('a turn to wait for the lock', async () => (await sql`
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`).length > 0);

t.test('a turn that waits for a lock says who holds it, is given up, and leaves nothing; the endpoint is taken again', async (t) => {
  const { clock, said, told, take } = await start();
  const endpointId = await endpoint({ workers_min: 2, workers_max: 2 });
  await sql.begin(async (holder) => {
    await holder`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK}) /* the holder */`;
    const turn = t.rejects(take([endpointId]), TurnsGivenUpError);
    await lockWaiter();
    clock.pass(LONG_MS);
    await waitFor('it to be told', () => told.length > 0);
    t.same(told, ['lock']);
    t.match(said[0], { endpointIds: [endpointId], wait: 'lock', statement: /advisory/, holders: [{ state: 'idle in transaction', statement: /the holder/ }] });
    clock.pass(TURNS_MS_MAX - LONG_MS);
    await turn;
    t.same(told, ['lock', 'given up']);
  });
  await waitFor('its endpoint to be free', async () => (await sql`
    SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`).length === 0);
  t.equal(await workers(endpointId), 0, 'nothing of it was done');
  t.ok(await take([endpointId]));
  t.equal(await workers(endpointId), 2);
});

t.test('one that has found no connection is given up, and does nothing when it has one', async (t) => {
  const { database, clock, told, take } = await start();
  const endpointId = await endpoint({ workers_min: 1, workers_max: 1 });
  const free = Promise.withResolvers<void>();
  const busy = Array.from({ length: 8 }, () => database.sql.begin(async (tx) => { await tx`SELECT 1`; await free.promise; }));
  await waitFor('all connections to be taken', async () => (await sql`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'slipway-core' AND state = 'idle in transaction'`).length >= 8);
  const turn = t.rejects(take([endpointId]), TurnsGivenUpError);
  clock.pass(LONG_MS);
  await waitFor('it to be told', () => told.length > 0);
  clock.pass(TURNS_MS_MAX - LONG_MS);
  await turn;
  t.same(told, ['connection', 'given up']);
  free.resolve();
  await Promise.all(busy);
  // The one that was given up may still hold its endpoint for the moment in which it finds that out.
  await waitFor('it to have its turn', async () => await take([endpointId]) && await workers(endpointId) === 1);
});

t.test('a lock that is held for ever is not waited for for ever', async (t) => {
  const plain = await start();
  for (const pool of [plain.database.sql, plain.database.hot, plain.database.urgent.sql]) t.same(await pool`SHOW lock_timeout`, [{ lock_timeout: '30s' }]);
  const { take } = await start('?lock_timeout=300');
  const [first, held, last] = [await endpoint({ workers_min: 1 }), await endpoint({ workers_min: 0 }), await endpoint({ workers_min: 1 })] as const;
  const worker = 'held00000000';
  await sql`INSERT INTO worker (id, endpoint_id, machine_id, version, state, desired) VALUES (${worker}, ${held}, ${LIVE_MACHINES[0]!}, 99, 'READY', 'RUN')`;
  await sql.begin(async (holder) => {
    await holder`SELECT FROM worker WHERE id = ${worker} FOR UPDATE`;
    await t.rejects(togetherOrApart([held, first, last], take), { code: '55P03' });
    t.same([await workers(first), await workers(last)], [1, 1], 'the others have had their turns');
    await holder`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
    const more = await Promise.all([1, 2, 3].map(() => endpoint({ workers_min: 1 })));
    const tried: string[] = [];
    const takeAndTell = (ids: readonly string[]): Promise<boolean> => { tried.push(ids.join()); return take(ids); };
    await t.rejects(togetherOrApart(more, takeAndTell), { code: '55P03' });
    t.same(tried, [more.join(), more[0], more[1]], 'where all need the lock, not all wait for it');
  });
  t.ok(await take([held]));
});
