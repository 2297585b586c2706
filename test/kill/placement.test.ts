// test: 10 s
/**
 * kill -9 of a core while it places workers with GPUs: what workers have and what is held agree, and each worker that
 * was wanted is there once.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { ScriptedAgent } from '../helpers/grpc/scripted-agent.ts';
import type { Processes } from '../helpers/system/processes.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const MACHINES = 4;
const GPUS_EACH = 10;
/** Two workers of each take all GPUs. */
const ENDPOINTS = 20;

/**
 * Returns the differences between GPUs of living workers and reservations: GPUs without a reservation, and reservations
 * without a worker that has the GPU.
 */
const differences = ({ sql }: Processes) => sql`
  WITH had AS (SELECT machine_id, unnest(gpu_uuids) AS gpu_uuid, id AS worker_id FROM worker WHERE ended_at IS NULL),
    held AS (SELECT machine_id, gpu_uuid, worker_id FROM gpu_hold)
  (SELECT 'not held' AS what, * FROM (SELECT * FROM had EXCEPT ALL SELECT * FROM held) a)
  UNION ALL SELECT 'not had', * FROM (SELECT * FROM held EXCEPT ALL SELECT * FROM had) b`;

async function placed({ sql }: Processes, each: number): Promise<void> {
  await waitFor(`${each} workers of each`, async () => {
    const [row] = await sql`
      SELECT count(*)::int AS endpoints FROM (SELECT FROM worker WHERE ended_at IS NULL AND state = 'READY'
        GROUP BY endpoint_id HAVING count(*) = ${each}) e`;
    return row!.endpoints === ENDPOINTS;
  });
}

t.test('a core killed inside and between placement transactions loses no worker and no GPU', async (t) => {
  const slipway = await startProcesses(t, { cores: 2, agents: 0 });
  const { clients, key, rootKey, sql, cores, coreAddresses } = slipway;
  for (let n = 1; n <= MACHINES; n += 1) {
    const request = { name: 'test', scope: KeyScope.AGENT, endpointIds: [], accountId: '', permissions: undefined };
    const { secret: agentKey } = await call(clients.keys, 'createKey', request, rootKey);
    const gpus = Array.from({ length: GPUS_EACH }, (_, gpu) => ({
      uuid: `GPU-${n}-${gpu}`,
      name: 'NVIDIA L4',
      memoryMib: 24_576,
      migProfile: '',
    }));
    // At the core that lives on.
    const agent = new ScriptedAgent({ address: coreAddresses[1]!, agentKey, machineId: `machine0000${n}`, gpus });
    t.teardown(() => agent.drop());
    await agent.connect();
  }
  const template = Template.fromPartial({ name: 'test', startCommand: ['true'], serverless: true });
  const { template: made } = await call(clients.templates, 'createTemplate', { template }, key);
  const ids = await Promise.all(
    Array.from({ length: ENDPOINTS }, async () => {
      const endpoint = Endpoint.fromPartial({
        name: 'test',
        templateId: made!.id,
        workersMin: 0,
        idleTimeoutSeconds: 3_600,
        gpuIds: ['NVIDIA L4'],
      });
      return (
        await call(
          clients.endpoints,
          'createEndpoint',
          { endpoint, requestId: '', workersMax: 2, retryLimit: undefined },
          key,
        )
      ).endpoint!.id;
    }),
  );
  /**
   * Requested from the core that is to be killed: it places the workers at once, and no other core does before it is
   * gone. Some calls may end with it.
   */
  const want = (workersMin: number) =>
    Promise.allSettled(
      ids.map((id) =>
        call(
          clients.endpoints,
          'updateEndpoint',
          { endpoint: Endpoint.fromPartial({ id, workersMin }), updateMask: ['workers_min'] },
          key,
        ),
      ),
    );

  let asked: Promise<unknown> = Promise.resolve();
  await sql.begin(async (transaction) => {
    // Workers are written and their GPUs cannot be: no placement gets to its end.
    await transaction`LOCK TABLE gpu_hold IN SHARE MODE`;
    asked = want(1);
    await waitFor(
      'it to be in the middle of placing',
      async () =>
        (await transaction`SELECT FROM pg_locks WHERE relation = 'gpu_hold'::regclass AND NOT granted`).length > 0,
    );
    await cores[0]!.kill();
  });
  await asked;
  await sql`UPDATE endpoint SET workers_min = 1`;
  await placed(slipway, 1);
  t.same([...(await differences(slipway))], [], 'after a transaction that was cut off');

  await cores[0]!.start();
  const workers = async (): Promise<number> => (await sql`SELECT FROM worker WHERE ended_at IS NULL`).length;
  asked = want(2);
  await waitFor('it to have placed some', async () => (await workers()) > ENDPOINTS);
  await cores[0]!.kill();
  t.comment(`${(await workers()) - ENDPOINTS} of ${ENDPOINTS} were placed when it was killed`);
  await asked;
  await sql`UPDATE endpoint SET workers_min = 2`;
  await placed(slipway, 2);
  t.same([...(await differences(slipway))], [], 'after some transactions and not others');
  t.equal((await sql`SELECT FROM gpu_hold`).length, MACHINES * GPUS_EACH, 'each GPU once');
});
