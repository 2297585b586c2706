// test: postgres
/** Reconciles of one transaction: each sees the decisions before it, although they are written at the end. */

import { chosenScaler } from '@slipway/core/domain/scaling/scale-target';
import { reconcileEndpoints } from '@slipway/core/scaling/reconcile';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { LIVE_MACHINES, startEngines } from '../../helpers/system/job-engine.ts';

t.test('endpoints of one account never exceed its quota together', async (t) => {
  const { sql, stores, endpoint } = await startEngines(t, { idle: true });
  await sql`UPDATE machine SET session_id = 'session', cpu_slots = 10 WHERE id = ${LIVE_MACHINES[0]!}`;
  const ids = await Promise.all([1, 2, 3].map(() => endpoint({ workers_min: 2, workers_max: 2 })));
  await sql`UPDATE account SET worker_quota = 3 WHERE id IN (SELECT account_id FROM endpoint WHERE id = ANY(${ids}))`;
  const results = await reconcileEndpoints(
    stores.scales,
    ids.map((endpointId) => ({ endpointId, preemptible: [] })),
    chosenScaler,
    systemRandom,
  );
  t.same(
    ids.map((id) => [results?.get(id)?.added.length, results?.get(id)?.throttled]),
    [
      [2, 0],
      [1, 1],
      [0, 2],
    ],
  );
  t.equal((await sql`SELECT FROM worker WHERE ended_at IS NULL`).length, 3);
  t.match(results?.get(ids[2]!)?.reason, /the account's quota of 3 workers is used up/);
});
