// test: postgres
/**
 * Queue lengths in large tables. Every statement that changes a queue maintains its length. The length is equal to a
 * count, costs nothing to read however long the queue is, and no writer waits for the commit of another to maintain it.
 */

import { connect } from '@slipway/core/store/sql/database';
import { makeStores } from '@slipway/core/store/storage';
import t from 'tap';
import { logger, outcome, slotsOn, startEngines, submission } from '../../../helpers/system/job-engine.ts';

const engines = await startEngines(t, { idle: true });
const { engine, sql, database, stores, sealer } = engines;
const { calls, attempts } = engine;

/** Returns the maintained length of a queue, and the length that counting finds. */
async function lengths(endpointId: string): Promise<{ told: number; counted: number }> {
  const [row] = await sql<
    { count: number }[]
  >`SELECT count(*) AS count FROM job WHERE endpoint_id = ${endpointId} AND state = 'IN_QUEUE'`;
  return { told: (await stores.counts.queued([endpointId]))[0]!, counted: row!.count };
}

t.test('the counted queue length is exact after any changes of jobs', async (t) => {
  const endpointId = await engines.endpoint({ retry_limit: 1 });
  const is = async (length: number, after: string): Promise<void> => {
    t.same(await lengths(endpointId), { told: length, counted: length }, after);
    t.equal((await stores.counts.health(endpointId))!.inQueue, length, `health, ${after}`);
  };
  await is(0, 'a new endpoint');
  const jobs = await Promise.all(
    [...Array(10).keys()].map((i) => calls.submit(submission(endpointId, { policy: { lowPriority: i % 2 === 0 } }))),
  );
  await calls.submit(submission(endpointId, { idempotencyKey: 'key' }));
  await calls.submit(submission(endpointId, { idempotencyKey: 'key' }));
  await is(11, 'submissions, one of them twice');
  const [first, second, third] = await attempts.claim(endpointId, slotsOn(endpointId, 3));
  await is(8, 'a claim');
  await attempts.recordOutcome(outcome(first!, { kind: 'FAILED', error: 'x' }));
  await is(8, 'a failure');
  await attempts.loseAttempts(third!, [third!], 'its worker died');
  await is(9, 'a lost attempt is queued again');
  await calls.cancel({ endpointId, jobId: third!.jobId });
  await is(9, 'a running job is cancelled');
  const waiting = jobs.filter(({ id }) => ![first, second, third].some((claimed) => claimed!.jobId === id));
  await calls.cancel({ endpointId, jobId: waiting[0]!.id });
  await is(8, 'a queued one is cancelled');
  await calls.retry({ endpointId, jobId: first!.jobId });
  await is(9, 'a failed one is retried');
  await sql`UPDATE job SET expires_at = now() WHERE id = ${waiting[1]!.id}`;
  await stores.deletions.reapExpired(100);
  await is(8, 'one has expired');
  await calls.purge(endpointId);
  await is(0, 'the queue is purged');
});

t.test('a wrong counter is corrected, and that of a deleted endpoint is removed', async (t) => {
  const [endpointId, gone] = [await engines.endpoint(), await engines.endpoint()];
  for (const id of [endpointId, gone]) await calls.submit(submission(id));
  await sql`UPDATE endpoint_tally SET queued = queued + 7 WHERE endpoint_id = ${endpointId}`;
  await sql`DELETE FROM endpoint WHERE id = ${gone}`;
  t.equal(await stores.counts.recount(), 1);
  t.same(await lengths(endpointId), { told: 1, counted: 1 });
  t.same(await sql`SELECT FROM endpoint_tally WHERE endpoint_id = ${gone}`, []);
  t.equal(await stores.counts.recount(), 0, 'once');
});

t.test(
  'asking for the length of a long queue, and for the few jobs of another state, reads no more pages ' +
    'than of a short one',
  async (t) => {
    const endpointId = await engines.endpoint();
    await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
      ttl_deadline_at, expires_at)
    SELECT ${endpointId}, gen_random_uuid() || '-u1', 'IN_QUEUE', false, 600000, 1800000, now(),
      now() + interval '1 day', now() + interval '1 day'
    FROM generate_series(1, 20000)`;
    await stores.counts.recount();
    const { counts, jobs } = makeStores({ ...database, sql: database.hot }, sealer);
    const [failed] = await attempts.claim(endpointId, slotsOn(endpointId, 1));
    await attempts.recordOutcome(outcome(failed!, { kind: 'FAILED', error: 'x' }));
    const list = () => jobs.list(endpointId, { state: 'FAILED', oldestFirst: false, offset: 0, limit: 100 });
    t.match(await list(), { jobs: [{ id: failed!.jobId }], total: 1, totalCapped: false });
    t.match(await jobs.list(endpointId, { state: undefined, oldestFirst: false, offset: 0, limit: 1 }), {
      jobs: { length: 1 },
      total: 10_000,
      totalCapped: true,
    });
    for (const [what, ask] of [
      ['the queue', () => counts.queued([endpointId])],
      ['health', () => counts.health(endpointId)],
      ['a list', list],
    ] as const) {
      // Once before, because a first use reads the catalogue.
      for (let i = 0; i < 9; i += 1) await ask();
      const before = await pages();
      for (let i = 0; i < 10; i += 1) await ask();
      const each = ((await pages()) - before) / 10;
      t.ok(each < 60, `${what}: ${each} pages`);
    }
  },
);

t.test('outcomes of one endpoint do not wait for each other to be on disk', async (t) => {
  const endpointId = await engines.endpoint();
  for (let i = 0; i < 2; i += 1) await calls.submit(submission(endpointId));
  const [one, other] = await attempts.claim(endpointId, slotsOn(endpointId, 2));
  const pools = await Promise.all(
    [...Array(3).keys()].map(async () => {
      const pool = connect(engines.url, 'test', 1, logger);
      t.teardown(() => pool.end());
      const [row] = await pool<{ slot: number }[]>`SELECT pg_backend_pid() % 16 AS slot`;
      return { pool, slot: row!.slot };
    }),
  );
  const slow = pools[0]!;
  const quick = pools.find(({ slot }) => slot !== slow.slot)!;
  const entry = ({ jobId, attempt, machineId }: typeof one & {}) => ({
    endpointId,
    jobId,
    attempt,
    machineId,
    output: Buffer.from('{}'),
    error: undefined,
    rule: { final: 'COMPLETED', requeueBelow: 0, counted: false } as const,
  });
  const using = (hot: typeof slow.pool) => makeStores({ ...database, hot }, sealer).outcomes;
  await slow.pool.begin(async (tx) => {
    t.equal((await using(tx as unknown as typeof slow.pool).record([entry(one!)])).length, 1);
    await quick.pool`SET lock_timeout = '2s'`;
    t.equal(
      (await using(quick.pool).record([entry(other!)])).length,
      1,
      'the other is recorded while the first is not committed',
    );
  });
  t.match(await stores.counts.health(endpointId), { completed: 2 });
});

/** Returns the number of pages that this database has read so far. */
async function pages(): Promise<number> {
  await database.hot`SELECT pg_stat_force_next_flush()`;
  const [row] = await database.hot<
    { pages: number }[]
  >`SELECT blks_hit + blks_read AS pages FROM pg_stat_database WHERE datname = current_database()`;
  return row!.pages;
}
