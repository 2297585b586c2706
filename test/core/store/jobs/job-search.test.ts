// test: postgres, 10 s
/**
 * Jobs of all endpoints of an account: found by every filter, page by page, without a read more when there are more
 * jobs. Measured in index entries and rows.
 */
import type { Submission } from '@slipway/core/jobs/submit/submission';
import t from 'tap';
import { jobEntriesRead } from '../../../helpers/db/index-reads.ts';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const { sql, database, engine, stores } = engines;
const { calls } = engine;
await sql`INSERT INTO account (id, name) VALUES ('other', 'other'), ('many', 'many')`;
const [first, second, foreign] = await Promise.all([
  engines.endpoint(),
  engines.endpoint(),
  engines.endpoint({ account_id: 'other' }),
]);

/** Error of every filter out of range. */
const INVALID = { name: 'DomainError', message: /must be|may have|metadata/ };

type Search = Parameters<typeof calls.search>[0];

const submit = async (endpointId: string, metadata?: Submission['metadata']): Promise<string> => {
  const job = await calls.submit({
    ...{ endpointId, requestId: '', kind: 'ASYNC', input: Buffer.from('{}'), webhook: '', policy: {} },
    ...{ s3Config: undefined, waitMs: 0, idempotencyKey: '', metadata },
  });
  return job.id;
};
const search = (asked: Partial<Search> = {}) =>
  calls.search({
    ...{
      accountId: 'account',
      endpointIds: [],
      endpoint: '',
      jobId: '',
      state: undefined,
      metadata: {},
      fromMs: undefined,
    },
    ...{ after: undefined, limit: 0, withCounts: false },
    ...asked,
  });
const ids = async (asked: Partial<Search>): Promise<string[]> => (await search(asked)).jobs.map(({ id }) => id);

t.test('by endpoint, state, metadata, time and id', async (t) => {
  const a = await submit(first, { order: '1', user: 'ann' });
  const b = await submit(second, { order: '2', user: 'ann' });
  const c = await submit(first);
  const away = await submit(foreign, { user: 'ann' });
  await calls.cancel({ endpointId: second, jobId: b });
  t.same(await ids({}), [c, b, a], 'newest first over all endpoints, and none of another account');
  t.same(await ids({ accountId: '' }), [away, c, b, a], 'the operator sees all');
  t.same(await ids({ endpointIds: [first] }), [c, a]);
  t.same(await ids({ endpointIds: [foreign] }), [], 'an endpoint of another account has nothing');
  await sql`UPDATE endpoint SET name = 'Harbour Pilot' WHERE id = ${second}`;
  t.same(await ids({ endpoint: 'harbour' }), [b], 'by a part of the name');
  t.same(await ids({ endpoint: second }), [b]);
  t.same((await search({ jobId: b })).endpointNames, { [second]: 'Harbour Pilot' });
  t.same(await ids({ state: 'CANCELLED' }), [b]);
  t.same(await ids({ metadata: { user: 'ann' } }), [b, a]);
  t.same(await ids({ metadata: { user: 'ann', order: '1' } }), [a]);
  t.same(await ids({ metadata: { user: 'ann' }, state: 'IN_QUEUE' }), [a]);
  t.same(await ids({ fromMs: Date.now() + 60_000 }), []);
  t.same(await ids({ fromMs: Date.now() - 3_600_000 }), [c, b, a]);
  t.same(await ids({ jobId: b }), [b]);
  t.same(await ids({ jobId: away }), [], 'the id of a job of another account finds nothing');
  t.same(await ids({ jobId: b, state: 'FAILED' }), []);
  t.same(await ids({ jobId: "' OR 1=1" }), []);
  t.same((await search({ jobId: a })).jobs[0]?.metadata, { order: '1', user: 'ann' });
  const { counts } = await search({ withCounts: true });
  t.same(counts, [
    { state: 'IN_QUEUE', count: 2, capped: false },
    { state: 'CANCELLED', count: 1, capped: false },
  ]);
  const page = await search({ limit: 2 });
  t.same(await ids({ limit: 2, after: page.next }), [a]);
  t.equal((await search({ limit: 3 })).next, undefined, 'no page after the last job');
});

t.test('a retried job keeps its metadata, and a deleted one takes its pairs along', async (t) => {
  const id = await submit(first, { kept: 'yes' });
  await sql`UPDATE job SET state = 'FAILED', finished_at = now() WHERE id = ${id}`;
  await calls.retry({ endpointId: first, jobId: id });
  t.same(await ids({ metadata: { kept: 'yes' } }), [id]);
  await sql`UPDATE job SET expires_at = now() - interval '1 s' WHERE id = ${id}`;
  t.same(await ids({ metadata: { kept: 'yes' } }), [], 'an expired job is not found');
  await stores.deletions.reapExpired(100);
  t.same(await sql`SELECT * FROM job_metadata WHERE key = 'kept'`, []);
});

t.test('out of range', async (t) => {
  await t.rejects(search({ limit: 201 }), INVALID);
  await t.rejects(search({ limit: -1 }), INVALID);
  await t.rejects(search({ fromMs: -1 }), INVALID);
  await t.rejects(search({ metadata: { '': 'v' } }), INVALID);
  await t.rejects(search({ endpointIds: Array.from({ length: 101 }, () => first) }), INVALID);
});

t.test('a page costs the same with ten times the jobs', async (t) => {
  const endpoints = await Promise.all(Array.from({ length: 20 }, () => engines.endpoint({ account_id: 'many' })));
  const [one] = endpoints;
  let rare = '';
  for (const many of [100, 1_000]) {
    for (const endpointId of endpoints)
      await sql`
        WITH stored AS (
          INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
            finished_at, ttl_deadline_at, expires_at)
          SELECT ${endpointId}, gen_random_uuid() || '-u1', s, false, 600000, 1800000, now(),
            CASE WHEN s <> 'IN_QUEUE' THEN now() END, now() + interval '1 day', now() + interval '1 day'
          FROM generate_series(1, ${many}::int / 2), unnest(ARRAY['IN_QUEUE', 'COMPLETED']) AS s
          RETURNING endpoint_id, id, position
        ), described AS (
          INSERT INTO job_input (endpoint_id, job_id, input, metadata)
          SELECT endpoint_id, id, '{}'::bytea, '{"all":"same"}' FROM stored
        )
        INSERT INTO job_metadata (endpoint_id, job_id, key, value, position)
        SELECT endpoint_id, id, 'all', 'same', position FROM stored`;
    rare = await submit(one!, { rare: 'yes' });
    for (const [what, asked, most] of [
      ['all', {}, 4_000],
      ['one state', { state: 'COMPLETED' }, 4_000],
      ['metadata', { metadata: { all: 'same' } }, 8_000],
      ['rare metadata', { metadata: { rare: 'yes' } }, 500],
      ['one endpoint', { endpointIds: [one!] }, 1_500],
      ['id', { jobId: rare }, 200],
      ['counts', { jobId: rare, withCounts: true }, 9_000],
    ] as [string, Partial<Search>, number][]) {
      await search({ accountId: 'many', ...asked });
      const before = await jobEntriesRead(database);
      const { jobs } = await search({ accountId: 'many', ...asked });
      const entries = (await jobEntriesRead(database)) - before;
      t.ok(jobs.length > 0 && entries <= most, `${what} of ${many} an endpoint: ${entries} entries`);
    }
  }
});
