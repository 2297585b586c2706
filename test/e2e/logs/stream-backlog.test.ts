// test: postgres, 20 s
/**
 * A machine whose job yields more than core can store for longer than a lease lasts: it keeps its lease and its other
 * jobs, and the stream loses nothing.
 */

import { LEASE_MS } from '@slipway/core/domain/machines/lease';
import postgres from 'postgres';
import t from 'tap';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** More than core lets be under way before it stops reading a session. */
const VALUES = 30_000;

t.setTimeout(600_000);

const system = await startSystem(t);
const command = jsHandler('all.js');
const streams = endpointJobs(system, await system.createEndpoint({ command }));
const others = endpointJobs(system, await system.createEndpoint({ command }));
const sql = postgres(system.database.url, { max: 2 });
t.teardown(() => sql.end());

t.test('a worker keeps its job while chunks cannot be stored for longer than a lease', async (t) => {
  await others.call('POST', '/runsync', { input: { mode: 'echo' } });
  const lock = await sql.reserve();
  await lock`BEGIN`;
  await lock`LOCK TABLE job_chunk IN EXCLUSIVE MODE`;
  const id = await streams.run({ mode: 'stream', values: Array.from({ length: VALUES }, (_, n) => n) });
  await streams.reached(id, 'IN_PROGRESS');
  const [begin] = await sql<{ at: Date }[]>`SELECT clock_timestamp() AS at`;
  let answered = 0;
  await waitFor('the lease to be extended again and again', async () => {
    const { json } = await others.call('POST', '/runsync', { input: { mode: 'echo', answered } });
    if (json.status === 'COMPLETED') answered += 1;
    const [row] = await sql<
      { ms: number }[]
    >`SELECT extract(epoch FROM max(lease_expires_at) - ${begin!.at})::float8 * 1000 AS ms FROM machine`;
    return row!.ms > 2.2 * LEASE_MS;
  });
  t.ok(answered > 10, `${answered} jobs were done beside it`);
  await lock`COMMIT`;
  lock.release();
  await streams.settled(id);
  const [job] = await sql<{ state: string; attempt: number; chunks: number }[]>`
    SELECT state, attempt, (SELECT count(*) FROM job_chunk c WHERE c.job_id = j.id)::int AS chunks FROM job j
      WHERE id = ${id}`;
  t.same(job, { state: 'COMPLETED', attempt: 1, chunks: VALUES });
});
