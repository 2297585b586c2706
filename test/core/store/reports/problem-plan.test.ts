// test: postgres
/**
 * The cost of finding problems must not grow with queues or with delivered webhook calls. Measured in index entries and
 * rows, not in time.
 */

import { ProblemStore } from '@slipway/core/store/reports/problem-store';
import t from 'tap';
import { entriesRead, jobEntriesRead } from '../../../helpers/db/index-reads.ts';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const { sql, database, stores } = engines;
const problems = new ProblemStore(database);
/** Most entries read for the few jobs that are checked. */
const ENTRIES_MAX = 100;

t.test('queues, however long', async (t) => {
  const endpointId = await engines.endpoint();
  for (const queued of [5_000, 30_000]) {
    await sql`
      INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
        ttl_deadline_at, expires_at)
      SELECT ${endpointId}, gen_random_uuid() || '-u1', 'IN_QUEUE', false, 600000, 1800000,
        now() - interval '11 minutes', now() + interval '1 day',
        now() + interval '1 day'
      FROM generate_series(1, ${queued}::int - (SELECT count(*)::int FROM job WHERE endpoint_id = ${endpointId}))`;
    await stores.counts.recount();
    await problems.queues('');
    const before = await jobEntriesRead(database);
    const [queue] = await problems.queues('');
    const entries = (await jobEntriesRead(database)) - before;
    t.ok(queue!.queued === queued && queue!.oldestWaitMs > 600_000, JSON.stringify(queue));
    t.ok(entries <= ENTRIES_MAX, `${queued} queued jobs: ${entries} entries`);
  }
});

t.test(
  'webhook calls: by the index of those that were given up, and no more than a thousand of an endpoint',
  async (t) => {
    const endpointId = await engines.endpoint();
    await sql`
    INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives)
    SELECT ${endpointId}, 'job-' || n, n, n % 10 > 0, 1, '', 0 FROM generate_series(1, 20000) AS n`;
    await sql`ANALYZE webhook_result`;
    await problems.givenUp('');
    const before = await entriesRead(database, 'webhook_result');
    t.match(await problems.givenUp(''), [{ id: endpointId, count: 1_000 }]);
    const entries = (await entriesRead(database, 'webhook_result')) - before;
    t.ok(entries > 0 && entries <= 1_100, `${entries} of 20,000 are read`);
  },
);
