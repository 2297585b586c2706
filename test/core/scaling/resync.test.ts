// test: postgres
/** The resync while the reconcile of one endpoint fails again and again. */

import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('workers of a lost machine are replaced, although the reconcile of another endpoint always fails', async (t) => {
  const core = await startReplicas(t);
  const { sql } = core;
  const lost = await core.joinAgent();
  const endpointId = await core.createEndpoint({ workersMin: 1 });
  await core.ready(endpointId);
  const failing = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0 });
  await sql.unsafe(`
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail_decision() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM nextval('failures'); RAISE EXCEPTION 'no decision'; END $$;
    CREATE TRIGGER fail_decision BEFORE INSERT OR UPDATE ON scale_decision FOR EACH ROW
      WHEN (NEW.endpoint_id = '${failing}') EXECUTE FUNCTION fail_decision()`);
  await core.updateEndpoint(failing, { workersMin: 1 });
  await waitFor('its reconcile to fail', async () => {
    const [row] = await sql<{ failures: number }[]>`SELECT last_value::int AS failures FROM failures`;
    return row!.failures > 5;
  });
  const other = await core.joinAgent();
  lost.drop();
  await sql`UPDATE machine SET lease_expires_at = now() - interval '1 s' WHERE id = ${lost.machineId}`;
  const replaced = await waitFor('a worker elsewhere', () => other.desired[0]);
  t.match(await sql`SELECT id, machine_id FROM worker WHERE endpoint_id = ${endpointId} AND ended_at IS NULL`, [
    { id: replaced.workerId, machine_id: other.machineId },
  ]);
});
