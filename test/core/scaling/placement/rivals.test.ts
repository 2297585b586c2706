// test: postgres
/** Endpoints that compete for GPUs, as a reconcile reads them. */

import { readGpuContention } from '@slipway/core/store/scaling/gpu-contention';
import t from 'tap';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.test('a hundred unplaced endpoints of one account hide none of another', async (t) => {
  const { sql, endpoint } = await startEngines(t, { idle: true });
  const id = await endpoint({ gpu_count: 1 });
  await sql`INSERT INTO account (id, name) VALUES ('many', 'many'), ('few', 'few')`;
  await sql`
    INSERT INTO endpoint (id, account_id, name, template_id, gpu_count)
    SELECT 'endpoint' || n, CASE WHEN n <= 150 THEN 'many' ELSE 'few' END, 'e', 'template', 1
    FROM generate_series(1, 151) AS n`;
  await sql`
    INSERT INTO scale_decision (endpoint_id, target, throttled, reason, decided_at)
    SELECT id, 1, 1, 'none', now() - CASE account_id WHEN 'many' THEN interval '1 h' ELSE interval '1 s' END
    FROM endpoint WHERE account_id IN ('many', 'few')`;
  const contention = await readGpuContention(sql, { id, accountId: 'account', gpuCount: 1 });
  t.equal(contention!.rivals.length, 100);
  t.same(
    contention!.rivals.flatMap(({ accountId }, place) => (accountId === 'few' ? [place] : [])),
    [1],
    'it is the first of its account',
  );
});
