/** What a page of jobs reads must not grow with the jobs there are, from whichever end and however far down. Counted in index entries and rows. */
import t from 'tap';
import { startEngines } from '../../helpers/job-engine.ts';
import { jobEntriesRead } from '../../helpers/index-reads.ts';

t.setTimeout(120_000);

const engines = await startEngines(t, { idle: true });
const { sql, database, stores } = engines;
const LIMIT = 50;
/** The total is counted so far. */
const COUNTED_MAX = 10_001;
/** Parts that a list of all states is merged of. */
const PARTS = 7;
/** The page, and the entries behind which it begins. */
const PAGE_ENTRIES_MAX = (PARTS + 3) * (LIMIT + 2);

t.test('from both ends, and in the middle', async (t) => {
  const endpointId = await engines.endpoint();
  for (const many of [8_000, 40_000]) {
    for (const state of ['IN_QUEUE', 'COMPLETED', 'FAILED']) {
      await sql`
        INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at, finished_at, ttl_deadline_at, expires_at)
        SELECT ${endpointId}, gen_random_uuid() || '-u1', ${state}, false, 600000, 1800000, now(), CASE WHEN ${state} <> 'IN_QUEUE' THEN now() END,
          now() + interval '1 day', now() + interval '1 day'
        FROM generate_series(1, ${many}::int - (SELECT count(*)::int FROM job WHERE endpoint_id = ${endpointId} AND state = ${state}))`;
    }
    for (const oldestFirst of [false, true]) {
      for (const state of [undefined, 'COMPLETED', 'IN_QUEUE'] as const) {
        const [middle] = await sql<{ position: number }[]>`
          SELECT position FROM job WHERE endpoint_id = ${endpointId} AND state = ${state ?? 'COMPLETED'} ORDER BY position OFFSET ${many / 2}::int LIMIT 1`;
        for (const after of [undefined, middle!.position]) {
          const ask = () => stores.jobs.list(endpointId, { state, oldestFirst, after, offset: 0, limit: LIMIT });
          await ask();
          const before = await jobEntriesRead(database);
          const { jobs } = await ask();
          const entries = await jobEntriesRead(database) - before;
          const what = `${state ?? 'all'}, ${oldestFirst ? 'oldest' : 'newest'} first${after === undefined ? '' : ', in the middle'}, of ${many}`;
          t.ok(jobs.length === LIMIT && entries <= COUNTED_MAX + PAGE_ENTRIES_MAX, `${what}: ${entries} entries`);
        }
      }
    }
  }
});
