// test: postgres
/**
 * Machines that come at once, as after a restart of core: what they should have is read for many together, not for one
 * after the other.
 */
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { countingProxy } from '../../helpers/net/counting-proxy.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const MACHINES = 60;

t.test('machines that join at once', async (t) => {
  const { url } = await createDatabase(t);
  const proxy = await countingProxy(t, url);
  const core = await startReplicas(t, 1, {}, { url: proxy.url });
  const endpointId = await core.createEndpoint({ workersMin: MACHINES, workersMax: MACHINES });
  const ids = Array.from({ length: MACHINES }, (_, n) => `many${String(n).padStart(8, '0')}`);
  for (const id of ids) await core.keyOf(id);
  proxy.take();
  await Promise.all(ids.map((machineId) => core.joinAgent({ machineId, cpuSlots: 1 })));
  await core.ready(endpointId, MACHINES);
  const reads = [...proxy.take()]
    .filter(([text]) => text.includes("w.desired = 'DRAIN' AND w.address"))
    .reduce((sum, [, count]) => sum + count, 0);
  t.ok(reads > 0 && reads < MACHINES, `${reads} reads for ${MACHINES} machines and their workers`);
  await waitFor(
    'a worker on each',
    async () =>
      (await core.sql`SELECT DISTINCT machine_id FROM worker WHERE ended_at IS NULL AND desired = 'RUN'`).length ===
      MACHINES,
  );
});
