// test: postgres
/** Workers that are decided on while an agent's hello is still being handled must reach that agent. */
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('a worker that is placed before the session is open is sent when it opens', async (t) => {
  const core = await startReplicas(t);
  const first = await core.createEndpoint();
  const agent = await core.joinAgent();
  await core.ready(first);
  const { machineId } = agent;
  const [previous] = agent.desired.map((worker) => worker.workerId);
  agent.drop();

  // The hello must write the row of the worker that it does not list. While that row is locked the session stays half
  // open. The worker is already not desired, so that the write changes nothing that is sent.
  await core.sql`UPDATE worker SET desired = 'GONE' WHERE id = ${previous!}`;
  const locker = await core.sql.reserve();
  await locker`BEGIN`;
  await locker`SELECT FROM worker WHERE id = ${previous!} FOR UPDATE`;
  const coming = core.joinAgent({ machineId });
  await waitFor('the hello to wait for the lock', async () => {
    const [row] = await core.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE '%UPDATE worker w SET state = ''STOPPED''%'`;
    return row!.n > 0;
  });
  const second = await core.createEndpoint();
  const [placed] = await waitFor('a worker of the second endpoint to be placed', async () => {
    const rows = await core.sql<
      { id: string }[]
    >`SELECT id FROM worker WHERE endpoint_id = ${second} AND machine_id = ${machineId}`;
    return rows.length > 0 && rows;
  });
  // Desired workers are also resynced every two seconds; the lock outlasts that.
  await waitFor('a look at what is desired', async () => {
    const [row] = await core.sql<
      { late: boolean }[]
    >`SELECT created_at < clock_timestamp() - interval '2.5 s' AS late FROM worker WHERE id = ${placed!.id}`;
    return row!.late;
  });
  await locker`COMMIT`;
  locker.release();
  const again = await coming;
  await waitFor('the agent to hear of it', () => again.desired.some((worker) => worker.workerId === placed!.id));
  t.pass('the agent was told');
});
