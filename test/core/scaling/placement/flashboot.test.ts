// test: postgres, 30 s
/**
 * FlashBoot in core: idle workers go on standby, resume before others start, are evicted by others, and are not
 * metered. A real database, scripted agents.
 */

import { chosenScaler } from '@slipway/core/domain/scaling/scale-target';
import { ScalingService } from '@slipway/core/scaling/scaling-service';
import { systemRandom } from '@slipway/kit/time/clock';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { CreatePodRequest } from '@slipway/proto/gen/slipway/v1/pod_service';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../../helpers/grpc/scripted-agent.ts';
import type { CoreReplicas } from '../../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { LIVE_MACHINES, logger, startEngines, submission } from '../../../helpers/system/job-engine.ts';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const FLASH = { flashBootType: FlashBootType.FLASHBOOT, workersMin: 0, idleTimeoutSeconds: 1 };
const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };

const run = async (core: CoreReplicas, endpointId: string) => core.wait(endpointId, (await core.submit(endpointId)).id);
const frozen = (agent: ScriptedAgent) =>
  waitFor('a frozen worker', () => agent.desired.find(({ desired }) => desired === DesiredState.FREEZE));
const spans = (core: CoreReplicas, workerId: string) => core.sql<{ open: boolean }[]>`
  SELECT ended_at IS NULL AS open FROM usage_span WHERE subject_id = ${workerId} ORDER BY id`;

t.test('idle: on standby and not metered; the next job resumes the same worker; shown everywhere', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const endpointId = await core.createEndpoint(FLASH);
  t.equal((await run(core, endpointId)).state, JobState.COMPLETED);
  const { workerId } = await frozen(agent);
  const health = await waitFor('health to show it', async () => {
    const { workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    return workers!.standby === 1 ? workers : undefined;
  });
  t.match(health, { idle: 0, running: 0, ready: 0, initializing: 0 });
  t.match((await call(core.clients.machines, 'listWorkers', { endpointId }, core.key)).workers, [
    { id: workerId, state: WorkerState.FROZEN },
  ]);
  t.same(
    (await spans(core, workerId)).map(({ open }) => open),
    [false],
    'its time has ended',
  );
  t.equal((await run(core, endpointId)).state, JobState.COMPLETED);
  t.same(
    agent.assignments.map(({ ref }) => ref!.workerId),
    [workerId, workerId],
    'no other was started',
  );
  await waitFor(
    'a new time to begin',
    async () => (await spans(core, workerId)).map(({ open }) => open).join() === 'false,true',
  );
  await core.updateEndpoint(endpointId, { flashBootType: FlashBootType.OFF });
  await waitFor('it to go for good', () => agent.desired.length === 0);
  await waitFor(
    'its time to end',
    async () => (await spans(core, workerId)).map(({ open }) => open).join() === 'false,false',
  );
  const { recent } = await call(core.clients.machines, 'listWorkers', { endpointId }, core.key);
  t.match(recent, [{ id: workerId, frozen: [{ beginTime: Date, endTime: Date }] }], 'when it stood frozen is known');
  t.ok(
    recent[0]!.frozen.length <= 2 && recent[0]!.frozen[0]!.endTime! > recent[0]!.frozen[0]!.beginTime!,
    'once, or twice when it was idle again',
  );
});

t.test('a worker or pod evicts a standby worker for its GPU', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ gpus: [L4] });
  const sleeping = await core.createEndpoint({ ...FLASH, gpuIds: ['NVIDIA L4'] });
  await run(core, sleeping);
  const { workerId } = await frozen(agent);
  const other = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 0, idleTimeoutSeconds: 1 });
  t.equal((await run(core, other)).state, JobState.COMPLETED);
  const [row] = await core.sql`SELECT desired, state FROM worker WHERE id = ${workerId}`;
  t.match(row, { desired: 'DRAIN', state: 'STOPPED' }, 'the frozen one has gone for it');
  await waitFor('the GPU to be free again', () => agent.desired.length === 0);
  t.equal((await run(core, sleeping)).state, JobState.COMPLETED, 'and starts anew when it is its turn');
  await frozen(agent);
  const pod = Pod.fromPartial({
    name: 'p',
    startCommand: ['true'],
    gpuIds: ['NVIDIA L4'],
    gpuCount: 1,
    computeType: 'GPU',
  });
  await call(core.clients.pods, 'createPod', CreatePodRequest.fromPartial({ pod }), core.key);
  await waitFor('the frozen one to go for the pod', () => agent.desired.length === 0);
  t.equal(agent.desiredPods.length, 1);
});

t.test('a machine keeps no more standby workers than its limit; the rest stops', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ standbyMax: 1 });
  const endpointId = await core.createEndpoint({ ...FLASH, workersMin: 2, workersMax: 2 });
  await core.ready(endpointId, 2);
  await core.updateEndpoint(endpointId, { workersMin: 0 });
  await waitFor('one of two', () => agent.desired.length === 1 && agent.desired[0]!.desired === DesiredState.FREEZE);
  t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ${endpointId} AND state = 'STOPPED'`).length, 1);
  const none = await core.joinAgent({ standbyMax: 0, locations: ['US'] });
  const plain = await core.createEndpoint({ ...FLASH, locations: ['US'] });
  await run(core, plain);
  await waitFor('it to be stopped', () => none.desired.length === 0);
});

t.test('the quota does not count standby workers, and counts resumed ones', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  await call(
    core.clients.access,
    'setQuota',
    { accountId: core.accountId, quota: { workers: 1, gpus: undefined, queuedJobs: undefined, requests: undefined } },
    core.rootKey,
  );
  const endpointId = await core.createEndpoint(FLASH);
  await run(core, endpointId);
  await frozen(agent);
  const other = await core.createEndpoint({ workersMin: 1 });
  await core.ready(other);
  const { id } = await core.submit(endpointId);
  await waitFor('it to say why', async () => {
    const { workers } = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    return /quota of 1 worker is used up/.test(workers!.throttledReason);
  });
  await core.updateEndpoint(other, { workersMin: 0, workersMax: 0 });
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED, 'then the frozen one is woken');
});

t.test('a job with only standby workers waits for no timer', async (t) => {
  const { sql, stores, events, engine, endpoint } = await startEngines(t, { idle: true });
  const [machineId] = LIVE_MACHINES;
  await sql`UPDATE machine SET session_id = 'session', standby_max = 1, cpu_slots = 1 WHERE id = ${machineId}`;
  const endpointId = await endpoint({
    flash_boot_type: 'FLASHBOOT',
    workers_min: 0,
    workers_max: 1,
    idle_timeout_seconds: 1,
  });
  const worker = (id: string, state: string, endedAt: string | null) => sql`
    INSERT INTO worker (id, endpoint_id, machine_id, version, state, busy_at, ended_at)
    VALUES (${id}, ${endpointId}, ${machineId}, 0, ${state}, now() - interval '1 h', ${endedAt}::timestamptz)`;
  await worker('idle', 'READY', null);
  await worker('older', 'STOPPED', '2020-01-01Z');
  const desired: string[] = [];
  const onDesired = async (): Promise<void> => {
    desired.push((await sql<{ desired: string }[]>`SELECT desired FROM worker WHERE id = 'idle'`)[0]!.desired);
  };
  const loop = new ScalingService({
    store: stores.scales,
    scaler: chosenScaler,
    events,
    task: { mine: true, onAcquired: () => () => undefined },
    hasWorker: () => false,
    onDesired: () => {
      void onDesired();
    },
    clock: new ManualClock(),
    random: systemRandom,
    logger,
  });
  await loop.start();
  t.teardown(() => loop.stop());
  await waitFor('it to be frozen', () => desired.join() === 'FREEZE');
  await waitFor('what is old to go', async () => (await sql`SELECT FROM worker WHERE id = 'older'`).length === 0);
  await worker('old', 'STOPPED', '2020-01-01Z');
  // The clock stands still, so that nothing may depend on a timer.
  await sql.begin(async (transaction) => {
    await transaction`SELECT FROM worker WHERE id = 'old' FOR UPDATE`;
    await engine.calls.submit(submission(endpointId));
    await waitFor('it to be woken', () => desired.join() === 'FREEZE,RUN');
  });
  await waitFor('what is old to go', async () => (await sql`SELECT FROM worker WHERE id = 'old'`).length === 0);
});
