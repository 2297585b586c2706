// test: postgres, 10 s
/**
 * The cost of a page of jobs must not grow with the number of jobs, from either end and however far down. Measured in
 * index entries and rows.
 */
import t from 'tap';
import { jobEntriesRead } from '../../../helpers/db/index-reads.ts';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const { sql, database, stores } = engines;
const LIMIT = 50;
/** The total is counted so far. */
const COUNTED_MAX = 10_001;
/** Parts that a list of all states is merged of. */
const PARTS = 7;
/** The page, and the entries behind which it begins. */
const PAGE_ENTRIES_MAX = (PARTS + 3) * (LIMIT + 2);

t.test('lists from both ends, and from the middle', async (t) => {
  const endpointId = await engines.endpoint();
  for (const many of [8_000, 40_000]) {
    for (const state of ['IN_QUEUE', 'COMPLETED', 'FAILED']) {
      await sql`
        INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
          finished_at, ttl_deadline_at, expires_at)
        SELECT ${endpointId}, gen_random_uuid() || '-u1', ${state}, false, 600000, 1800000, now(), CASE
          WHEN ${state} <> 'IN_QUEUE' THEN now() END,
          now() + interval '1 day', now() + interval '1 day'
        FROM generate_series(1, ${many}::int - (SELECT count(*)::int FROM job WHERE endpoint_id = ${endpointId}
          AND state = ${state}))`;
    }
    for (const oldestFirst of [false, true]) {
      for (const state of [undefined, 'COMPLETED', 'IN_QUEUE'] as const) {
        const [middle] = await sql<{ position: number }[]>`
          SELECT position FROM job WHERE endpoint_id = ${endpointId} AND state = ${state ?? 'COMPLETED'}
            ORDER BY position OFFSET ${many / 2}::int LIMIT 1`;
        for (const after of [undefined, middle!.position]) {
          const ask = () => stores.jobs.list(endpointId, { state, oldestFirst, after, offset: 0, limit: LIMIT });
          await ask();
          const before = await jobEntriesRead(database);
          const { jobs } = await ask();
          const entries = (await jobEntriesRead(database)) - before;
          const what =
            `${state ?? 'all'}, ${oldestFirst ? 'oldest' : 'newest'} ` +
            `first${after === undefined ? '' : ', in the middle'}, of ${many}`;
          t.ok(jobs.length === LIMIT && entries <= COUNTED_MAX + PAGE_ENTRIES_MAX, `${what}: ${entries} entries`);
        }
      }
    }
  }
});

t.test('the longest of the newest thousand only', async (t) => {
  const endpointId = await engines.endpoint();
  // The older a job the longer it ran, and the shorter it waited.
  await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at, started_at,
      finished_at, ttl_deadline_at,
      expires_at)
    SELECT ${endpointId}, 'j' || i, 'COMPLETED', false, 600000, 1800000, now() - interval '1 hour',
      now() - interval '1 hour' + i * interval '1 ms',
      now() - interval '1 hour' + 5000 * interval '1 ms', now() + interval '1 day', now() + interval '1 day'
    FROM generate_series(1, 3000) AS i`;
  await sql`
    INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
      ttl_deadline_at, expires_at)
    SELECT ${endpointId}, 'waits', 'IN_QUEUE', false, 600000, 1800000, now() - interval '2 hours',
      now() + interval '1 day', now() + interval '1 day'`;
  const list = async (request: object) => {
    const { jobs, next } = await stores.jobs.list(endpointId, {
      state: undefined,
      oldestFirst: false,
      offset: 0,
      limit: 3,
      ...request,
    });
    return { ids: jobs.map(({ id }) => id), next };
  };
  t.same((await list({ longest: 'delay' })).ids, ['waits', 'j3000', 'j2999'], 'what waits has waited until now');
  const first = await list({ longest: 'execution', state: 'COMPLETED' });
  t.same(first.ids, ['j2001', 'j2002', 'j2003'], 'the two thousand before ran longer, but nobody looks at them');
  t.same(
    (await list({ longest: 'execution', state: 'COMPLETED', after: first.next })).ids,
    ['j2004', 'j2005', 'j2006'],
    'the next page',
  );
  t.same(
    await list({ longest: 'execution', state: 'COMPLETED', offset: 997 }),
    { ids: ['j2998', 'j2999', 'j3000'], next: undefined },
    'the last page',
  );
  t.same(await list({ longest: 'execution', state: 'COMPLETED', offset: 2_000 }), { ids: [], next: undefined });
  t.same((await list({ longest: 'execution', offset: 998 })).ids, ['j3000', 'waits'], 'what never started comes last');
  t.same((await list({ longest: 'execution', oldestFirst: true })).ids, ['j1', 'j2', 'j3'], 'of the oldest thousand');
  const before = await jobEntriesRead(database);
  await list({ longest: 'execution' });
  const entries = (await jobEntriesRead(database)) - before;
  t.ok(entries <= COUNTED_MAX + (PARTS + 3) * 1_002, `${entries} entries`);
});
