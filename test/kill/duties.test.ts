// test: 10 s
/** kill -9 of the core that does the background tasks for all: another one does them. */

import { SINGLETON_TASKS } from '@slipway/core/events/singleton-task-registry';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('another core takes over all singleton tasks of a killed core and does them', async (t) => {
  const { sql, cores, request, createEndpoint } = await startProcesses(t, { cores: 3, agents: 1 });
  const holders = () => sql<{ pid: number; duties: number }[]>`
    SELECT pid, count(*)::int AS duties FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 GROUP BY pid`;
  const [before, ...others] = await waitFor('an owner', async () => {
    const rows = await holders();
    return rows.length > 0 && rows;
  });
  t.same([before!.duties, others], [SINGLETON_TASKS.length, []], 'the first has all');
  const asleep = { command: jsHandler('all.js'), fields: { workersMin: 0 }, ready: 0 };
  const [woken, full] = await Promise.all([createEndpoint(asleep), createEndpoint({ ...asleep, workersMax: 0 })]);
  const { json: job } = await request('POST', `/v2/${full}/run`, { input: {} });
  await cores[0]!.kill();
  const killedAtMs = systemClock.monotonicMs();
  // Written without an event: only the owner of the singleton task, which resyncs everything periodically, finds it.
  await sql`UPDATE endpoint SET workers_min = 1 WHERE id = ${woken}`;
  await sql`UPDATE job SET ttl_deadline_at = now() - interval '1 s', expires_at = now() - interval '1 s'
    WHERE id = ${job.id}`;
  const after = await waitFor('another owner', async () => {
    const rows = await holders();
    return rows.length > 0 && rows[0]!.pid !== before!.pid && rows;
  });
  const tookMs = systemClock.monotonicMs() - killedAtMs;
  t.comment(`taken after ${Math.round(tookMs)} ms`);
  t.equal(
    after.reduce((sum, { duties }) => sum + duties, 0),
    SINGLETON_TASKS.length,
  );
  t.equal((await request('GET', '/v1/endpoints')).status, 200, 'and nobody noticed');
  await waitFor(
    'a worker that nobody else would start',
    async () => (await sql`SELECT FROM worker WHERE endpoint_id = ${woken}`).length === 1,
  );
  await waitFor(
    'a job that nobody else would delete to be gone',
    async () => (await sql`SELECT FROM job WHERE id = ${job.id}`).length === 0,
  );
  t.comment(`done after ${Math.round(systemClock.monotonicMs() - killedAtMs)} ms`);
});
