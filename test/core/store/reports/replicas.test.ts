// test: postgres
/** The list of replicas after an outage: replicas that record themselves at the same moment do not block each other. */
import t from 'tap';
import { startEngines } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { idle: true });
const { sql, stores } = engines;

t.test('replicas that come back together remove a replica that does not, and never wait for each other', async (t) => {
  for (const address of ['a', 'b', 'gone']) await stores.replicas.beat(address);
  await sql`UPDATE core_replica SET seen_at = now() - interval '1 hour'`;
  let isOver = false;
  let beat: Promise<string[]> | undefined;
  await sql.begin(async (tx) => {
    await tx`UPDATE core_replica SET seen_at = now() WHERE address = 'b'`;
    beat = stores.replicas.beat('a').finally(() => {
      isOver = true;
    });
    await waitFor('the other replica to be recorded, or to wait', async () => {
      const waiting = await sql`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return isOver || waiting.length > 0;
    });
    t.ok(isOver, 'it does not wait for b, which waits for it if it removes it');
  });
  t.same(await beat, ['a'], 'b was not recorded yet');
  t.same(await stores.replicas.beat('a'), ['a', 'b']);
  t.same(
    (await sql<{ address: string }[]>`SELECT address FROM core_replica ORDER BY 1`).map((row) => row.address),
    ['a', 'b'],
  );
});
