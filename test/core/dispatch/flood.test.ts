/** A flood of calls of one account: the leases of machines are extended all the same. */
import t from 'tap';
import { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';
import { call } from '../../helpers/grpc-clients.ts';
import { waitFor } from '../../helpers/wait-for.ts';

t.setTimeout(120_000);

/** As many as one client has sent before the first is answered. */
const CALLS = 500;

t.test('leases are extended while all connections for calls wait', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const leaseOf = async (): Promise<number> => (await core.sql`SELECT extract(epoch FROM lease_expires_at)::float8 AS at FROM machine`)[0]!.at as number;
  let release = (): void => undefined;
  const held = core.sql.begin(async (sql) => {
    // Whoever wants to place a pod waits for this, with its connection.
    await sql`SELECT pg_advisory_xact_lock(5947213006)`;
    await new Promise<void>((resolve) => { release = resolve; });
  });
  const pod = Pod.fromPartial({ computeType: 'CPU', startCommand: ['sleep', '9'] });
  const calls = Array.from({ length: CALLS }, () => call(core.clients.pods, 'createPod', { pod }, core.key).catch(() => undefined));
  await waitFor('all connections to wait', async () => (await core.sql`
    SELECT FROM pg_stat_activity WHERE application_name = 'slipway-core' AND wait_event_type = 'Lock'`).length >= 8);
  const before = await leaseOf();
  await waitFor('two more extensions', async () => (await leaseOf()) > before + 3);
  // Longer than a grant is remembered: the key of the agent is looked up again.
  await waitFor('one more when the keys have been looked up again', async () => (await leaseOf()) > before + 8);
  release();
  await held;
  await Promise.all(calls);
});
