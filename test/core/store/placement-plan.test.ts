/** What reading machines for a placement costs: placements wait for each other, so it must not grow with the workers that have ended. */
import t from 'tap';
import type { Statement } from '../../../core/store/database.ts';
import { readPlacement } from '../../../core/store/placement-view.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';

t.setTimeout(120_000);

const MACHINES = 50;
const ALIVE = 500;
const ENDED = 5_000;

t.test('pages that are read', async (t) => {
  const core = await startReplicas(t);
  const { sql } = core;
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  await core.joinAgent({ gpus: Array.from({ length: 10 }, (_, n) => ({ uuid: `GPU-${n}`, name: 'NVIDIA L4', memoryMib: 1, migProfile: '' })) });
  await sql`
    INSERT INTO machine SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'm' || n, 'name', 'm' || n, 'session_id', NULL))).*
    FROM machine m, generate_series(1, ${MACHINES}) n`;
  await sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, desired, state, ended_at)
    SELECT 'ended' || n, ${endpointId}, 'm' || (1 + n % ${MACHINES}::int), 0, 'GONE', 'STOPPED', now() FROM generate_series(1, ${ENDED}::int) n`;
  await sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids)
    SELECT 'alive' || n, ${endpointId}, 'm' || (1 + n % ${MACHINES}::int), 0, ARRAY['GPU-' || n / ${MACHINES}::int]
    FROM generate_series(0, ${ALIVE - 1}::int) n`;
  await sql`ANALYZE worker`;
  await sql`ANALYZE machine`;
  const machines = await readPlacement(sql, { endpointId, imageName: '', imageDigest: '' });
  t.equal(machines.reduce((sum, { gpus }) => sum + gpus.filter(({ used }) => used).length, 0), ALIVE, 'every living worker counts');
  t.equal(machines.reduce((sum, { siblings }) => sum + siblings, 0), ALIVE);
  let pages = Infinity;
  const explained = (async (strings: TemplateStringsArray, ...values: never[]) => {
    const texts = [`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${strings[0]}`, ...strings.slice(1)];
    const [row] = await sql(Object.assign(texts, { raw: texts }), ...values);
    pages = (row!['QUERY PLAN'] as { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }[]).reduce(
      (sum, { Plan }) => sum + Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'], 0);
    return [];
  }) as unknown as Statement;
  await readPlacement(explained, { endpointId, imageName: '', imageDigest: '' });
  t.ok(pages < 300, `${pages} pages for ${ALIVE} workers on ${MACHINES} machines beside ${ENDED} that have ended`);
});
