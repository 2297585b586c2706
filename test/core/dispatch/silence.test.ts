// test: postgres, 10 s
/**
 * An agent that keeps its connection and sends nothing loses its session after the length of a lease, and its lease is
 * not extended.
 */

import { LEASE_MS } from '@slipway/core/domain/machines/lease';
import { SessionEndReason } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('silence', async (t) => {
  const core = await startReplicas(t);
  const lively = await core.joinAgent({ heartbeatMs: 500 });
  let livelyEnded = false;
  void lively.ended.then(() => {
    livelyEnded = true;
  });
  const quiet = await core.joinAgent({ heartbeatMs: 0 });
  const joinedAtMs = performance.now();
  const machine = async () =>
    (
      await core.sql`
    SELECT session_id, lease_expires_at, lease_expires_at < now() AS over FROM machine WHERE id = ${quiet.machineId}`
    )[0]!;
  const before = await machine();
  t.equal(await quiet.ended, undefined, 'ended in order');
  t.equal(quiet.end?.reason, SessionEndReason.LEASE_OVER, 'and says why');
  t.ok(performance.now() - joinedAtMs >= LEASE_MS, 'not before a lease had passed');
  await waitFor('the row to know', async () => (await machine()).session_id === null);
  t.same((await machine()).lease_expires_at, before.lease_expires_at);
  t.equal((await machine()).over, true);
  t.equal(livelyEnded, false, 'who speaks stays');
});
