// test: postgres
/**
 * A claim costs the same however long the queue is and however many claimed rows vacuum may not remove. Counted in
 * index entries read, not in time. The plans of all statements of the engine: hot-plans.test.ts.
 */
import postgres from 'postgres';
import t from 'tap';
import { startEngines } from '../../../helpers/system/job-engine.ts';

const engines = await startEngines(t, { idle: true });
const { engine, sql, database } = engines;
const QUEUED = 30_000;
const SLOTS = 100;

/** Fills a queue without statistics: the tables have not been analyzed, as on a fresh installation. */
async function fill(endpointId: string, count: number): Promise<void> {
  await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
      ttl_deadline_at, expires_at)
    SELECT ${endpointId}, gen_random_uuid() || '-u1', 'IN_QUEUE', i % 10 = 0, 600000, 1800000, now(),
      now() + interval '1 day', now() + interval '1 day'
    FROM generate_series(1, ${count}::int) AS i`;
  await sql`INSERT INTO job_input (endpoint_id, job_id, input) SELECT endpoint_id, id, '{}' FROM job
    WHERE endpoint_id = ${endpointId}`;
}

/** Entries of the job table's claim index that claims have read since the last look. */
async function indexTuples(): Promise<number> {
  await database.hot`SELECT pg_stat_force_next_flush()`;
  const [row] = await sql<{ n: number }[]>`
    SELECT idx_tup_read AS n FROM pg_stat_user_indexes WHERE indexrelname = 'job_claim_idx'`;
  return row!.n;
}

t.test('with a long queue and an old snapshot held open, claims do not slow down', async (t) => {
  const endpointId = await engines.endpoint();
  await fill(endpointId, QUEUED);
  const holder = postgres(engines.url, { max: 1 });
  t.teardown(() => holder.end());
  const snapshot = await holder.reserve();
  await snapshot`BEGIN ISOLATION LEVEL REPEATABLE READ`;
  await snapshot`SELECT count(*) FROM job`;
  const slots = Array.from({ length: SLOTS }, () => ({ endpointId, workerId: 'w', machineId: 'm' }));
  const costs: number[] = [];
  for (let i = 0; i < 100; i += 1) {
    const before = await indexTuples();
    const claimed = await engine.attempts.claim(endpointId, slots);
    t.equal(claimed.length, SLOTS);
    costs.push((await indexTuples()) - before);
  }
  const late = costs.slice(-10).toSorted((a, b) => a - b);
  t.comment(
    `index entries read by a claim of ${SLOTS}: first ${costs.slice(0, 3).join(', ')}, last ` +
      `${costs.slice(-3).join(', ')}`,
  );
  t.ok(late[2]! <= SLOTS * 3, 'ten thousand dead entries later a claim reads about as many entries as it claims');
  await snapshot`ROLLBACK`;
  snapshot.release();
});
