// test: alone, postgres, 10 s
/**
 * The engine's statements keep the plan that they got when their connection was young, often on an empty table.
 * Whatever the table looked like then, no statement may read more than a few index entries for each of its rows once
 * there are many.
 */
import { randomUUID } from 'node:crypto';
import { outcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import type { MachineAttempt } from '@slipway/core/domain/jobs/job';
import type { Sql } from '@slipway/core/store/sql/database';
import { openDatabase } from '@slipway/core/store/sql/database';
import { migrate } from '@slipway/core/store/sql/migrate';
import type { Stores } from '@slipway/core/store/storage';
import { makeStores } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase, useOwnServer } from '../../../helpers/db/database.ts';

// Index entries of dead rows are marked only when no transaction of the whole server is older, and marked ones cost
// nothing.
useOwnServer();

const ENDPOINT = 'ep1234567890ab';
const MANY = 5_000;
const BATCH = 50;
/** Index entries for each row, over all tables of jobs. */
const ENTRIES_MAX = 15;

const sealer = new Sealer('0'.repeat(64));
const logger = createLogger('test', 'silent');
const rule = outcomeRule('COMPLETED', { retryLimit: 0, retryHandlerErrors: false });
const output = Buffer.from('{}');

function placements(count: number) {
  return Array.from({ length: count }, () => ({
    job: {
      endpointId: ENDPOINT,
      id: `${randomUUID()}-u1`,
      lowPriority: false,
      executionTimeoutMs: 600_000,
      retentionMs: 60_000,
      ttlMs: 600_000,
      input: output,
      webhookSealed: undefined,
      s3ConfigSealed: undefined,
    },
    slot: undefined,
  }));
}

const slots = (count: number) =>
  Array.from({ length: count }, () => ({ endpointId: ENDPOINT, workerId: 'worker', machineId: 'machine' }));
const claim = ({ claims }: Stores, count: number) =>
  claims.claim({
    endpointId: ENDPOINT,
    slots: slots(count),
    claimId: randomUUID(),
    afterNormal: 0,
    afterLow: 0,
    inputBytesMax: 1_000,
  });

/** Runs a statement of each kind over about `count` rows, each by `measure`. */
async function useAll(
  stores: Stores,
  count: number,
  measure: (name: string, work: () => Promise<unknown>, rows?: number) => Promise<void>,
): Promise<void> {
  const { submissions, claims, counts, jobs, chunks, attempts, deletions, deadlines, outcomes } = stores;
  const fresh = placements(2 * count);
  await measure('insert', () => submissions.insert(fresh, randomUUID()));
  await measure('read what was inserted', () => submissions.read(fresh.map(({ job }) => job)));
  await measure('look for queues', () => claims.queuedEndpoints([ENDPOINT]));
  await measure('count a queue', () => counts.queued([ENDPOINT]));
  await measure('claim', () => claim(stores, count));
  const keys = (await claim(stores, count)).map(({ job }) => job).toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1));
  await measure('read', () =>
    jobs.read(
      keys,
      keys.map(() => 1_000),
    ),
  );
  await measure('append chunks', () =>
    chunks.append(keys.map((key) => ({ ...key, number: 1, output, metrics: undefined }))),
  );
  await readStreams(stores, keys, measure);
  await measure('show progress', () => chunks.showProgress(keys.map((key) => ({ ...key, output }))));
  await measure('find expired leases', () => attempts.expiredLeases(count));
  await measure('find endpoints that are gone', () => deletions.endpointsGone(count));
  await measure('cancel', () => jobs.cancel(keys[0]!));
  await retryMany(stores, count, measure);
  await cancelMany(stores, count, measure);
  await measure('time out', () => deadlines.timeOut(count));
  await measure('record outcomes', () =>
    outcomes.record(keys.map((key) => ({ ...key, rule, output, error: undefined }))),
  );
  await useOne(stores, measure);
  await measure('reap', () => deletions.reapExpired(count));
}

/** Retries jobs that have just failed. */
async function retryMany(stores: Stores, count: number, measure: Parameters<typeof useAll>[2]): Promise<void> {
  const { jobs, submissions, outcomes } = stores;
  await submissions.insert(placements(count), randomUUID());
  const keys = (await claim(stores, count)).map(({ job }) => job);
  const failed = outcomeRule('FAILED', { retryLimit: 0, retryHandlerErrors: false });
  await outcomes.record(keys.map((key) => ({ ...key, rule: failed, output: undefined, error: 'why' })));
  const walk = await jobs.beginWalk({
    endpointId: ENDPOINT,
    move: 'retry',
    states: ['FAILED', 'TIMED_OUT'],
    submitted: undefined,
  });
  await measure('look for failed jobs', () => jobs.nextMatches(walk, count));
  await measure('look for jobs that timed out', () => jobs.nextMatches({ ...walk, part: 1 }, count));
  await measure('read parts of errors', () =>
    jobs.errorParts(
      ENDPOINT,
      keys.map(({ jobId }) => jobId),
    ),
  );
  const [one, ...matches] = await jobs.nextMatches(walk, count);
  await measure('retry', () => jobs.retry({ endpointId: ENDPOINT, jobId: one!.jobId }), 1);
  await measure('retry many', async () => {
    if ((await jobs.retryMatching(walk, matches)).length !== count - 1) throw new Error('not all were queued again');
  });
}

/** Cancels the retried jobs, which are at the end of the queue, and some running ones. */
async function cancelMany({ jobs }: Stores, count: number, measure: Parameters<typeof useAll>[2]): Promise<void> {
  const walk = await jobs.beginWalk({
    endpointId: ENDPOINT,
    move: 'cancel',
    states: ['IN_QUEUE', 'IN_PROGRESS'],
    submitted: undefined,
  });
  await measure('look for jobs to cancel', () => jobs.nextMatches(walk, count));
  const matches = await jobs.nextMatches(walk, count);
  await measure('cancel many', async () => {
    if ((await jobs.cancelMatching(walk, matches)).length !== count) throw new Error('not all were cancelled');
  });
  await measure('look for running jobs to cancel', () => jobs.nextMatches({ ...walk, part: 2 }, count));
}

/** Reads streams that nobody has read yet, that were read before, and from a cursor of the reader. */
async function readStreams(
  { chunks }: Stores,
  keys: readonly MachineAttempt[],
  measure: Parameters<typeof useAll>[2],
): Promise<void> {
  const bounds = { chunksMax: 100, bytesMax: 65_536, allOrNothing: true };
  const read = async (after: { attempt: number; number: number } | undefined): Promise<void> => {
    const pages = await chunks.read(
      keys.map(({ endpointId, jobId }) => ({ endpointId, jobId, after, limit: 10 })),
      bounds,
    );
    if (pages.some((page) => page?.chunks.length !== 1 || !page.taken)) throw new Error('not every stream was read');
  };
  await measure('read streams', () => read(undefined));
  await measure('append more chunks', () =>
    chunks.append(keys.map((key) => ({ ...key, number: 2, output, metrics: undefined }))),
  );
  await measure('read on', () => read(undefined));
  await measure('read from a place of their own', () => read({ attempt: 1, number: 1 }));
}

/** Runs the statements that have another shape for a single row. */
async function useOne({ submissions, outcomes }: Stores, measure: Parameters<typeof useAll>[2]): Promise<void> {
  const [given] = placements(1);
  await measure('insert one', () => submissions.insert([given!], randomUUID()), 1);
  const [taken] = placements(1).map((placement) => ({
    ...placement,
    slot: { workerId: 'worker', machineId: 'machine' },
  }));
  await measure('insert one that is taken at once', () => submissions.insert([taken!], randomUUID()), 1);
  const ended = {
    endpointId: ENDPOINT,
    jobId: taken!.job.id,
    attempt: 1,
    machineId: 'machine',
    rule,
    output,
    error: undefined,
  };
  await measure(
    'record one outcome',
    async () => {
      if ((await outcomes.record([ended])).length !== 1) throw new Error('it was not recorded');
    },
    1,
  );
}

async function testPlans(t: Test, prepare: (sql: Sql, stores: Stores) => Promise<unknown>): Promise<void> {
  const { url } = await createDatabase(t);
  const admin = openDatabase(url, { logger });
  const young = openDatabase(url, { logger, hotConnectionsMax: 1 });
  t.teardown(() => Promise.all([admin.close(), young.close()]));
  await migrate(admin, logger);
  await admin.sql`INSERT INTO account (id, name) VALUES ('account', 'account')`;
  await admin.sql`INSERT INTO template (id, account_id, name) VALUES ('template', 'account', 'template')`;
  await admin.sql`INSERT INTO endpoint (id, account_id, name, template_id)
    VALUES (${ENDPOINT}, 'account', 'endpoint', 'template')`;
  const tables = ['job', 'job_input', 'job_output', 'job_chunk', 'stream_cursor'];
  for (const table of tables) await admin.sql`ALTER TABLE ${admin.sql(table)} SET (autovacuum_enabled = off)`;
  // Uses the general pool instead of the hot one, because the plans of the young connection are measured.
  const filling = makeStores({ ...admin, hot: admin.sql }, sealer);
  const used = makeStores(young, sealer);
  await prepare(admin.sql, filling);
  // Twice, because a plan is made at the first use and kept from the second.
  for (let i = 0; i < 2; i += 1)
    await useAll(used, 2, async (_, work) => {
      await work();
    });

  for (let i = 0; i < 2 * MANY; i += 500) await filling.submissions.insert(placements(500), randomUUID());
  for (let i = 0; i < MANY; i += 500) await claim(filling, 500);
  const entriesRead = async (): Promise<number> => {
    await young.hot`SELECT pg_stat_force_next_flush()`;
    await young.hot`SELECT pg_stat_clear_snapshot()`;
    const [row] = await young.hot<{ entries: number }[]>`
      SELECT sum(idx_tup_read)::bigint + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables
        WHERE relname ~ '^(job|stream)')::bigint AS entries
      FROM pg_stat_user_indexes WHERE relname ~ '^(job|stream)'`;
    return row!.entries;
  };
  await admin.sql`UPDATE job SET execution_deadline_at = now()
    WHERE id IN (SELECT id FROM job WHERE state = 'IN_PROGRESS' LIMIT ${BATCH})`;
  await admin.sql`UPDATE job SET expires_at = now() WHERE id IN (SELECT id FROM job WHERE state = 'IN_QUEUE'
    ORDER BY position DESC LIMIT ${BATCH})`;
  await useAll(used, BATCH, async (name, work, rows = BATCH) => {
    const before = await entriesRead();
    await work();
    const each = ((await entriesRead()) - before) / rows;
    t.ok(each <= ENTRIES_MAX, `${name} reads ${each} index entries for a row`);
  });
}

t.test('a connection that was young when the tables were new', (t) => testPlans(t, async () => undefined));
t.test('a connection that was young when the tables had been emptied', (t) =>
  testPlans(t, (sql) => sql`VACUUM ANALYZE`),
);
t.test('a connection that was young when there were a few jobs', (t) =>
  testPlans(t, async (sql, { submissions }) => {
    await submissions.insert(placements(5), randomUUID());
    await sql`ANALYZE`;
  }),
);
