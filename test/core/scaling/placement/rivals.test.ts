// test: postgres
/** Endpoints that compete for GPUs, as a reconcile reads them. */

import { readGpuContention } from '@slipway/core/store/scaling/gpu-contention';
import t from 'tap';
import { LIVE_MACHINES, startEngines } from '../../../helpers/system/job-engine.ts';

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

t.test('an endpoint whose image no registry has waits only for machines that have it', async (t) => {
  const { sql, endpoint } = await startEngines(t, { idle: true });
  const id = await endpoint({ gpu_count: 1 });
  const image = 'localhost/ocr:latest';
  await sql`INSERT INTO account (id, name) VALUES ('other', 'other')`;
  await sql`INSERT INTO template (id, account_id, name, image_name) VALUES ('local', 'other', 't', 'localhost/ocr')`;
  const waiting = await endpoint({ account_id: 'other', template_id: 'local', gpu_count: 1 });
  await sql`INSERT INTO scale_decision (endpoint_id, target, throttled, reason) VALUES (${waiting}, 1, 1, 'none')`;
  const paused = async () => {
    const contention = await readGpuContention(sql, { id, accountId: 'account', gpuCount: 1 });
    return contention!.rivals.map((rival) => rival.paused);
  };
  t.same(await paused(), [undefined], 'while no machine reports it, any may have it');
  const [has, lacks] = LIVE_MACHINES;
  await sql`INSERT INTO machine_image (machine_id, name, digest, size_bytes) VALUES (${has}, ${image}, '', 1)`;
  t.same(await paused(), [[lacks]]);
  await sql`UPDATE machine SET engine = '{"name": "kubernetes"}' WHERE id = ${lacks}`;
  t.same(await paused(), [undefined], 'a Kubernetes node may have any image');
  await sql`UPDATE machine SET engine = NULL, seen_at = now() - CASE id WHEN ${has} THEN interval '1 h'
    ELSE interval '0 s' END`;
  t.same(await paused(), [undefined], 'a removed machine counts not');
});
