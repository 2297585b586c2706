// test: postgres
/**
 * The cost of reading machines for a placement. Placements wait for each other, so it must not grow with the number of
 * ended workers.
 */

import type { WorkerAction } from '@slipway/core/domain/scaling/place-workers';
import { readPlacement } from '@slipway/core/store/scaling/placement-view';
import { ReconcileFleet } from '@slipway/core/store/scaling/reconcile-fleet';
import type { ScaleEndpoint } from '@slipway/core/store/scaling/scale-samples';
import type { Sql, Statement } from '@slipway/core/store/sql/database';
import t from 'tap';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const MACHINES = 50;
const ALIVE = 500;
const ENDED = 5_000;

const core = await startReplicas(t);
const { sql } = core;

t.test('pages that are read', async (t) => {
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  await core.joinAgent({
    gpus: Array.from({ length: 10 }, (_, n) => ({ uuid: `GPU-${n}`, name: 'NVIDIA L4', memoryMib: 1, migProfile: '' })),
  });
  await sql`
    INSERT INTO machine
      SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'm' || n, 'name', 'm' || n, 'session_id', NULL))).*
    FROM machine m, generate_series(1, ${MACHINES}) n`;
  await sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, desired, state, ended_at)
    SELECT 'ended' || n, ${endpointId}, 'm' || (1 + n % ${MACHINES}::int), 0, 'GONE', 'STOPPED', now()
      FROM generate_series(1, ${ENDED}::int) n`;
  await sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids)
    SELECT 'alive' || n, ${endpointId}, 'm' || (1 + n % ${MACHINES}::int), 0, ARRAY['GPU-' || n / ${MACHINES}::int]
    FROM generate_series(0, ${ALIVE - 1}::int) n`;
  await sql`ANALYZE worker`;
  await sql`ANALYZE machine`;
  const machines = await readPlacement(sql, { endpointId, imageName: '', imageDigest: '' });
  t.equal(
    machines.reduce((sum, { gpus }) => sum + gpus.filter(({ used }) => used).length, 0),
    ALIVE,
    'every living worker counts',
  );
  t.equal(
    machines.reduce((sum, { siblings }) => sum + siblings, 0),
    ALIVE,
  );
  let pages = Infinity;
  const explained = (async (strings: TemplateStringsArray, ...values: never[]) => {
    const texts = [`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${strings[0]}`, ...strings.slice(1)];
    const [row] = await sql(Object.assign(texts, { raw: texts }), ...values);
    pages = (row!['QUERY PLAN'] as { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }[]).reduce(
      (sum, { Plan }) => sum + Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'],
      0,
    );
    return [];
  }) as unknown as Statement;
  await readPlacement(explained, { endpointId, imageName: '', imageDigest: '' });
  t.ok(pages < 300, `${pages} pages for ${ALIVE} workers on ${MACHINES} machines beside ${ENDED} that have ended`);
});

t.test('batched reconciles read the machines once, and each sees the changes of earlier ones', async (t) => {
  const agent = await core.joinAgent({
    gpus: [1, 2, 3].map((n) => ({ uuid: `GPU-X${n}`, name: 'NVIDIA A40', memoryMib: 46_068, migProfile: '' })),
  });
  const { machineId } = agent;
  const [a, b] = [
    await core.createEndpoint({ workersMin: 0, workersMax: 0 }),
    await core.createEndpoint({ workersMin: 0, workersMax: 0 }),
  ];
  await sql`INSERT INTO machine_image (machine_id, name, digest, size_bytes)
    VALUES (${machineId}, 'image:1', 'sha256:1', 1)`;
  await sql`INSERT INTO endpoint_image (endpoint_id, version, image_name, digest)
    VALUES (${b}, 0, 'image:2', 'sha256:1')`;
  let reads = 0;
  await sql
    .begin(async (tx) => {
      const counting = new Proxy(tx as unknown as Sql, {
        apply: (target, that, [strings, ...rest]: [TemplateStringsArray, ...never[]]) => {
          if (strings[0]?.includes('SELECT m.id, m.name')) reads += 1;
          return Reflect.apply(target, that, [strings, ...rest]) as unknown;
        },
      });
      const endpoint = (id: string, imageName: string) => ({ id, version: 0, imageName }) as ScaleEndpoint;
      const fleet = new ReconcileFleet(counting, [endpoint(a, 'image:1'), endpoint(b, 'image:2')], new Map());
      const same = async (id: string, imageName: string, imageDigest: string, what: string) => {
        await fleet.open();
        const here = (machines: Awaited<ReturnType<typeof readPlacement>>) =>
          machines.find((machine) => machine.id === machineId)!;
        const now = here(await readPlacement(tx as unknown as Sql, { endpointId: id, imageName, imageDigest }));
        const plain = ({ standbys, ...machine }: typeof now) => ({
          ...machine,
          standbys: standbys.map(({ workerId }) => workerId),
        });
        t.same(plain(here(fleet.machinesFor(endpoint(id, imageName)))), plain(now), what);
      };
      const add = async (id: string, endpointId: string, gpuUuids: string[]) => {
        await tx`INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids)
          VALUES (${id}, ${endpointId}, ${machineId}, 0, ${gpuUuids})`;
        fleet.apply({
          actions: [{ do: 'ADD', machineId, gpuUuids, instanceId: '', evicted: [], failures: 0 }],
          throttled: 0,
        });
      };
      await tx`INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids, desired)
        VALUES ('asleep', ${a}, ${machineId}, 0, '{GPU-X1}', 'FREEZE')`;
      await same(a, 'image:1', '', 'at first');
      await same(b, 'image:2', 'sha256:1', 'with an image by its digest');
      await add('other1', b, ['GPU-X2']);
      await add('other2', b, []);
      await same(a, 'image:1', '', 'with what others were given');
      await tx`UPDATE worker SET desired = 'RUN' WHERE id = 'asleep'`;
      const wake: WorkerAction = { do: 'WAKE', workerId: 'asleep' };
      fleet.apply({ actions: [wake], throttled: 0 });
      await same('', '', '', 'with a frozen worker that was woken');
      await tx`UPDATE worker SET desired = 'DRAIN' WHERE id = 'asleep'`;
      fleet.apply({ actions: [{ do: 'PREEMPT', workerId: 'asleep' }], throttled: 0 });
      t.equal(fleet.workersOf(a).find(({ id }) => id === 'asleep')?.desired, 'DRAIN', 'its endpoint sees that it goes');
      throw new Error('nothing of this is kept');
    })
    .catch((error: Error) => {
      t.match(error.message, /nothing of this is kept/);
    });
  t.equal(reads, 1);
});
