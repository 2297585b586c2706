// test: postgres
/** The cost of an explanation must not grow with the queue. Measured in index entries and rows, not in time. */

import { JOBS_AHEAD_MAX } from '@slipway/core/domain/reports/explanation';
import { RunningJobs } from '@slipway/core/store/jobs/running-jobs';
import { ExplainStore } from '@slipway/core/store/reports/explain-store';
import t from 'tap';
import { jobEntriesRead } from '../../../helpers/db/index-reads.ts';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const { sql, database, stores } = engines;
const explains = new ExplainStore(database, new RunningJobs(database, 0));
/** Entries besides those of the jobs that are counted ahead of one. */
const OTHERS_MAX = 200;

t.test('of an endpoint and of the last job in its queue', async (t) => {
  const endpointId = await engines.endpoint();
  for (const queued of [15_000, 60_000]) {
    await sql`
      INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
        ttl_deadline_at, expires_at)
      SELECT ${endpointId}, gen_random_uuid() || '-u1', 'IN_QUEUE', false, 600000, 1800000, now(),
        now() + interval '1 day', now() + interval '1 day'
      FROM generate_series(1, ${queued}::int - (SELECT count(*)::int FROM job WHERE endpoint_id = ${endpointId}))`;
    await stores.counts.recount();
    const [last] = await sql<
      { id: string }[]
    >`SELECT id FROM job WHERE endpoint_id = ${endpointId} ORDER BY position DESC LIMIT 1`;
    const asked: Record<string, [entriesMax: number, ask: () => Promise<unknown>]> = {
      'the endpoint': [
        OTHERS_MAX,
        async () => {
          t.equal((await explains.endpoint(endpointId))!.sample.demand.queued, 1, 'as many as its scaler asks about');
          t.equal((await explains.queueLength(endpointId)).queued, queued);
        },
      ],
      'the last job': [
        JOBS_AHEAD_MAX + OTHERS_MAX,
        async () => {
          t.equal(
            (await explains.job({ endpointId, jobId: last!.id }))!.queuePosition,
            JOBS_AHEAD_MAX + 1,
            'behind at least so many',
          );
        },
      ],
    };
    for (const [what, [entriesMax, ask]] of Object.entries(asked)) {
      await ask();
      const before = await jobEntriesRead(database);
      await ask();
      const entries = (await jobEntriesRead(database)) - before;
      t.ok(entries <= entriesMax, `${what} beside ${queued} queued jobs: ${entries} entries`);
    }
  }
});
