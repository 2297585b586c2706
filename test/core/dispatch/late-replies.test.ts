// test: postgres, 20 s
/** Replies of a slow database: what they say may be over by the time that they come. */

import { UNRECORDED_MAX } from '@slipway/core/dispatch/worker-slots';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { DONE } from '../../helpers/grpc/scripted-agent-options.ts';
import { holdingProxy } from '../../helpers/net/holding-proxy.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined };

/** Starts replicas whose statements a test can hold back. */
async function replicasBehindProxy(t: Test, count: number) {
  const url = new URL((await createDatabase(t)).url);
  const proxy = await holdingProxy(t, { host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  return { proxy, core: await startReplicas(t, count, {}, { url: url.href }) };
}

/** Most jobs that are submitted at once, fewer than the worker has slots. */
const AT_ONCE = 20;

/** Returns a worker of 100 slots that gets no more jobs, as the statement that records its outcomes is held back. */
async function workerWithBacklog(t: Test) {
  const { core, proxy } = await replicasBehindProxy(t, 1);
  let ends = false;
  const agent = await core.joinAgent({ capacity: 100, onAssignment: () => (ends ? DONE : undefined) });
  const endpointId = await core.createEndpoint({ retryLimit: 0 });
  await core.ready(endpointId);
  const jobs = [await core.submit(endpointId)];
  const { ref } = await waitFor('the first job to run', () => agent.assignments[0]);
  proxy.hold(jobs[0]!.id, 'MESSAGE');
  agent.finish(ref!);
  await waitFor('the statement that records its outcome', () => proxy.holds);
  ends = true;
  // Quickly: core replaces a connection that does not answer for seconds.
  while (jobs.at(-1)!.state !== JobState.IN_QUEUE && jobs.length < 2 * UNRECORDED_MAX)
    jobs.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => core.submit(endpointId)))));
  t.equal(jobs.at(-1)!.state, JobState.IN_QUEUE, 'its slots are free, and it gets nothing');
  t.ok(agent.assignments.length > UNRECORDED_MAX, `after ${agent.assignments.length} jobs`);
  t.same(agent.acked, []);
  return { core, proxy, agent, endpointId, jobs };
}

t.test('a claim whose reply comes after its job went back to the queue is not sent', async (t) => {
  const { core, proxy } = await replicasBehindProxy(t, 1);
  const agent = await core.joinAgent({ ...silent, capacity: 2 });
  const endpointId = await core.createEndpoint({ retryLimit: 0 });
  await core.ready(endpointId);
  proxy.hold('a late reply', 'ANSWER');
  const submitted = core.submit(endpointId, { name: 'a late reply' });
  await waitFor('its claim', () => proxy.holds);
  const again = await waitFor('the audit to return it, and another claim', () => agent.assignments[0]);
  t.equal(again.ref!.attempt, 2);
  proxy.release();
  const { id } = await submitted;
  const next = await core.submit(endpointId, {});
  agent.finish(again.ref!);
  await waitFor('the next job', () => agent.assignments.some(({ ref }) => ref!.jobId === next.id));
  t.same(
    agent.assignments.map(({ ref }) => `${ref!.jobId}/${ref!.attempt}`),
    [`${id}/2`, `${next.id}/1`],
    'attempt 1 was never sent',
  );
  t.match(await core.wait(endpointId, id), { state: JobState.COMPLETED, attempt: 2, retries: 0 });
});

t.test('a claim whose reply comes after its job was cancelled is not sent', async (t) => {
  const { core, proxy } = await replicasBehindProxy(t, 1);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  await core.submit(endpointId);
  const { ref: first } = await waitFor('the first job to run', () => agent.assignments[0]);
  const { id } = await core.submit(endpointId);
  proxy.hold(first!.workerId, 'ANSWER');
  agent.finish(first!);
  await waitFor('the claim of the second', async () => {
    const [row] = await core.sql`SELECT state FROM job WHERE id = ${id}`;
    return proxy.holds && row!['state'] === 'IN_PROGRESS';
  });
  await call(core.clients.jobs, 'cancelJob', { endpointId, jobId: id }, core.key);
  await waitFor('its stop, of which the agent reports the end', () => agent.stops.length > 0);
  proxy.release();
  const { id: third } = await core.submit(endpointId);
  await waitFor('the third job to run', () => agent.assignments.some(({ ref }) => ref!.jobId === third));
  t.same(
    agent.assignments.map(({ ref }) => ref!.jobId),
    [first!.jobId, third],
    'the cancelled job was never sent: nothing would end it',
  );
  agent.finish(agent.assignments.at(-1)!.ref!);
  await core.wait(endpointId, third);
});

t.test('a machine whose lease has ended gets no jobs until its lease is extended', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ ...silent, heartbeatMs: 500 });
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const job = await core.sql.begin(async (tx) => {
    // No heartbeat can be stored.
    await tx`SELECT FROM machine WHERE id = ${agent.machineId} FOR UPDATE`;
    await waitFor(
      'the end of the lease',
      async () => {
        const [row] = await tx`SELECT lease_expires_at < clock_timestamp() AS over FROM machine
          WHERE id = ${agent.machineId}`;
        return row!.over as boolean;
      },
      30_000,
    );
    return core.submit(endpointId);
  });
  t.equal(job.state, JobState.IN_QUEUE, 'its worker is ready, and gets nothing');
  const { ref } = await waitFor('its turn', () => agent.assignments[0]);
  agent.finish(ref!);
  t.match(await core.wait(endpointId, job.id), { state: JobState.COMPLETED, attempt: 1, retries: 0 });
});

t.test('a hello that its agent has left takes nothing from the session that the agent has opened since', async (t) => {
  const { core, proxy } = await replicasBehindProxy(t, 2);
  const endpointId = await core.createEndpoint({ retryLimit: 0 });
  const machineId = 'machine0late';
  const [{ address }, other] = core.replicas as [(typeof core.replicas)[0], (typeof core.replicas)[0]];
  proxy.hold('a late hello', 'MESSAGE');
  const agentKey = await core.keyOf(machineId);
  const impatient = new ScriptedAgent({ ...silent, address, agentKey, machineId, cpuModel: 'a late hello' });
  const left = impatient.connect().catch((error: unknown) => error);
  await waitFor('the row of its machine', () => proxy.holds);
  impatient.drop();
  await left;
  const agent = await core.joinAgent({ ...silent, machineId, heartbeatMs: 100 }, other);
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  const { ref } = await waitFor('the job to run', () => agent.assignments[0]);
  proxy.release();
  t.equal(await agent.ended, undefined, 'its machine has another session by now');
  const workers = [{ workerId: ref!.workerId, endpointId, state: WorkerState.READY, capacity: 1 }];
  const again = await core.joinAgent({ ...silent, machineId, held: [ref!], workers }, other);
  again.finish(ref!);
  t.match(await core.wait(endpointId, id), { state: JobState.COMPLETED, attempt: 1, retries: 0 });
});

t.test('a worker gets no jobs while too many of its outcomes are not recorded, and then it does', async (t) => {
  const { core, proxy, agent, endpointId, jobs } = await workerWithBacklog(t);
  proxy.release();
  t.match(await core.wait(endpointId, jobs.at(-1)!.id), { state: JobState.COMPLETED, attempt: 1, retries: 0 });
  await waitFor('all acknowledgements', () => agent.acked.length === jobs.length);
});

t.test(
  'outcomes that are not recorded when their session ends, and are sent again, are counted once each',
  async (t) => {
    const { core, proxy, agent, endpointId, jobs } = await workerWithBacklog(t);
    const held = agent.assignments.map(({ ref }) => ref!);
    agent.drop();
    const workers = [{ workerId: held[0]!.workerId, endpointId, state: WorkerState.READY, capacity: 100 }];
    const again = await core.joinAgent({ machineId: agent.machineId, capacity: 100, held, workers });
    again.send({ outcomes: held.map((ref) => ({ error: '', ...DONE, ref })) });
    proxy.release();
    t.match(await core.wait(endpointId, jobs.at(-1)!.id), { state: JobState.COMPLETED, attempt: 1, retries: 0 });
    await waitFor('all acknowledgements', () => again.acked.length === jobs.length);
    const [row] = await core.sql`SELECT count(*)::int AS jobs FROM job WHERE state = 'COMPLETED' AND retries = 0`;
    t.equal(row!.jobs, jobs.length);
  },
);
