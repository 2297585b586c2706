// test: postgres, 10 s
/** A flood of calls of one account: the leases of machines are extended all the same. */

import { LEASE_MS } from '@slipway/core/domain/machines/lease';
import { PLACEMENT_LOCK } from '@slipway/core/store/scaling/standby-rows';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** As many as one client has sent before the first is answered. */
const CALLS = 500;

t.test('leases are extended while all connections for calls wait', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const leaseOf = async (): Promise<number> =>
    (await core.sql`SELECT extract(epoch FROM lease_expires_at)::float8 AS at FROM machine`)[0]!.at as number;
  // A lease that ran out and was taken again later would look the same afterwards.
  const runs = async (): Promise<boolean> =>
    (await core.sql`SELECT lease_expires_at > now() AS runs FROM machine`)[0]!.runs as boolean;
  let losses = 0;
  const lost = (): true => Boolean((losses += 1)) as true;
  let release = (): void => undefined;
  const held = core.sql.begin(async (sql) => {
    // Placements of pods wait for this lock, each with its connection.
    await sql`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  const pod = Pod.fromPartial({ computeType: 'CPU', startCommand: ['sleep', '9'] });
  const calls = Array.from({ length: CALLS }, () =>
    call(core.clients.pods, 'createPod', { pod }, core.key).catch(() => undefined),
  );
  await waitFor(
    'all connections to wait',
    async () =>
      (
        await core.sql`
    SELECT FROM pg_stat_activity WHERE application_name = 'slipway-core' AND wait_event_type = 'Lock'`
      ).length >= 8,
  );
  const before = await leaseOf();
  await waitFor(
    'two more extensions',
    async () => ((await runs()) || lost()) && (await leaseOf()) > before + 3,
    LEASE_MS,
  );
  // Longer than a grant is remembered: the key of the agent is looked up again.
  await waitFor(
    'one more when the keys have been looked up again',
    async () => ((await runs()) || lost()) && (await leaseOf()) > before + 8,
  );
  t.equal(losses, 0, 'it has not run out in between');
  release();
  await held;
  await Promise.all(calls);
});
