// test: postgres, 60 s
/**
 * Machines that stay for a time: they get no worker whose jobs could last longer, lose theirs in time, hand back what
 * runs when they stop, and are forgotten. An outage of core forgets none.
 */
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { rawWorkers } from '../../../helpers/system/raw-worker.ts';
import { startRealAgent } from '../../../helpers/system/real-agent.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t);
const { clients, rootKey, sql } = core;
const inSeconds = (seconds: number): Date => new Date(Date.now() + seconds * 1_000);
const ids = async (): Promise<string[]> =>
  (await call(clients.machines, 'listMachines', {}, rootKey)).machines.map(({ machine }) => machine!.id);

t.test('no worker whose jobs could last longer than the machine stays', async (t) => {
  const leaveTime = inSeconds(300);
  const agent = await core.joinAgent({ locations: ['CZ'], ephemeral: true, leaveTime });
  const at = { locations: ['CZ'], workersMin: 1 };
  const short = await core.createEndpoint({ ...at, executionTimeoutMs: 60_000 });
  await core.ready(short);
  const long = await core.createEndpoint({ ...at, executionTimeoutMs: 600_000 });
  const refusal = await waitFor('it to be refused', async () => {
    const { explanation } = await call(clients.endpoints, 'explain', { endpointId: long }, rootKey);
    return explanation!.machines.find(({ refusedBy }) => refusedBy === 'LEAVES');
  });
  t.match(refusal, { reason: /^it leaves in 2\d\d s \(--until\), and a job may run for 600 s/, change: /--until/ });
  const { status } = await call(clients.machines, 'getMachine', { id: agent.machineId }, rootKey);
  t.match(status!.machine, { ephemeral: true, leaveTime });
  for (const id of [short, long]) await core.updateEndpoint(id, { workersMin: 0, workersMax: 0 });
  agent.drop();
});

t.test('its workers end in time for their last jobs', async () => {
  const agent = await core.joinAgent({ locations: ['US'], ephemeral: true, leaveTime: inSeconds(3_600) });
  const id = await core.createEndpoint({ locations: ['US'], workersMin: 1, executionTimeoutMs: 5_000 });
  await core.ready(id);
  await sql`UPDATE machine SET leaves_at = now() + interval '10 s' WHERE id = ${agent.machineId}`;
  await waitFor('its worker to end', () => agent.desired.some(({ desired }) => desired === DesiredState.DRAIN));
  await core.updateEndpoint(id, { workersMin: 0, workersMax: 0 });
  agent.drop();
});

t.test('it stops: what runs is handed back without a retry, and core forgets it', async (t) => {
  const agent = await startRealAgent(t, core, { SLIPWAY_AGENT_EPHEMERAL: 'true', SLIPWAY_AGENT_LOCATIONS: 'SE' });
  const raw = await rawWorkers(t);
  const templateId = await core.createTemplate({ startCommand: jsHandler('raw-worker.js'), env: raw.env });
  const id = await core.createEndpoint({ templateId, locations: ['SE'], retryLimit: 0, workersMax: 1 });
  const worker = await raw.next();
  await worker.ping();
  const job = await core.submit(id);
  t.equal((await worker.take()).jobs[0]?.id, job.id);
  const other = await core.joinAgent({ locations: ['SE'] });
  await agent.stop({ keepContainers: true });
  t.match(await core.wait(id, job.id), { state: JobState.COMPLETED, retries: 0 }, 'another machine ran it');
  await waitFor('it to be forgotten', async () => !(await ids()).includes(agent.machineId));
  const [key] = await sql`SELECT revoked_at IS NOT NULL AS revoked FROM api_key WHERE machine_id = ${agent.machineId}`;
  t.same(key, { revoked: true });
  other.drop();
});

t.test('its time is over: it stops by itself and is forgotten', async (t) => {
  const { machineId } = await startRealAgent(t, core, { SLIPWAY_AGENT_UNTIL: inSeconds(10).toISOString() });
  await waitFor('it to be forgotten', async () => {
    const rows = await sql`SELECT revoked_at IS NOT NULL AS revoked FROM api_key WHERE machine_id = ${machineId}`;
    return rows[0]?.['revoked'] === true && !(await ids()).includes(machineId);
  });
});

t.test('one that is only away is kept for ten minutes', async (t) => {
  const kept = await core.joinAgent({ locations: ['FR'], ephemeral: true });
  kept.drop();
  const gone = await core.joinAgent({ locations: ['FR'], ephemeral: true });
  gone.drop();
  await sql`
    UPDATE machine SET lease_expires_at = now() - interval '1 s',
      seen_at = now() - CASE WHEN id = ${gone.machineId} THEN interval '11 min' ELSE interval '9 min' END
    WHERE id IN (${kept.machineId}, ${gone.machineId})`;
  await waitFor('one to be forgotten', async () => !(await ids()).includes(gone.machineId));
  t.ok((await ids()).includes(kept.machineId));
});
