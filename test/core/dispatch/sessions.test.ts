// test: postgres, 10 s
/** Sessions of agents: a job end to end, fencing, hello, stops, leases, two replicas. Real sockets, real database. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** An agent that ends nothing unless the test does. */
const silent = { onAssignment: () => undefined };

t.test('a job goes to a worker and its output comes back', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId, { n: 1 });
  const job = await core.wait(endpointId, id);
  t.equal(job.state, JobState.COMPLETED);
  t.equal(job.output?.toString(), '{"ok":true}');
  t.equal(agent.assignments[0]?.input?.toString(), '{"n":1}');
  t.equal(job.workerId, agent.assignments[0]?.ref?.workerId);
  await waitFor('the acknowledgement', () => agent.acked.length === 1);
});

t.test('a newer session of a machine ends the older one, on this replica and on another', async (t) => {
  const core = await startReplicas(t, 2);
  const first = await core.joinAgent({ heartbeatMs: 100 });
  const { machineId } = first;
  const second = await core.joinAgent({ machineId, heartbeatMs: 100 });
  t.equal(await first.ended, undefined, 'ended in order');
  const third = await core.joinAgent({ machineId, heartbeatMs: 100 }, core.replicas[1]);
  t.equal(await second.ended, undefined, 'fenced by its next heartbeat');
  const [row] = await core.sql`SELECT replica_address FROM machine WHERE id = ${machineId}`;
  t.equal(row!.replica_address, core.replicas[1]!.address);
  third.drop();
});

t.test('attempts missing from a hello are lost at once, listed ones continue, stale ones are stopped', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({ retryLimit: 1 });
  const agent = await core.joinAgent({ ...silent, capacity: 2 });
  await core.ready(endpointId);
  const kept = await core.submit(endpointId);
  const lost = await core.submit(endpointId);
  await waitFor('both to run', () => agent.assignments.length === 2);
  const [keptRef] = agent.assignments.filter(({ ref }) => ref!.jobId === kept.id).map(({ ref }) => ref!);
  agent.drop();
  const stale = { ...keptRef!, jobId: 'f'.repeat(36) };
  const workers = [{ workerId: keptRef!.workerId, endpointId, state: WorkerState.READY, capacity: 2 }];
  const again = await core.joinAgent({
    ...silent,
    machineId: agent.machineId,
    capacity: 2,
    held: [keptRef!, stale],
    workers,
  });
  await waitFor('the lost one to come back', () => again.assignments.length === 1);
  t.match(again.assignments[0]!.ref, { jobId: lost.id, attempt: 2 }, 'a new attempt');
  t.equal((await core.get(endpointId, lost.id)).retries, 1);
  t.match(
    again.stops.map((stop) => stop.ref!.jobId),
    [stale.jobId],
    'nobody waits for that one',
  );
  again.finish(keptRef!);
  t.equal((await core.wait(endpointId, kept.id)).state, JobState.COMPLETED);
  t.equal((await core.get(endpointId, kept.id)).attempt, 1, 'the first attempt went on');
});

t.test('a worker never gets more than it can hold, however many are queued', async (t) => {
  const core = await startReplicas(t, 2);
  const endpointId = await core.createEndpoint({ workersMin: 2 });
  let most = 0;
  const running = new Map<string, number>();
  const agents = await Promise.all(
    core.replicas.map((replica) => core.joinAgent({ ...silent, capacity: 3, cpuSlots: 1 }, replica)),
  );
  await core.ready(endpointId, 2);
  const jobs = await Promise.all(Array.from({ length: 60 }, () => core.submit(endpointId)));
  let seen = [0, 0];
  await waitFor('all jobs to be done', async () => {
    agents.forEach((agent, index) => {
      const fresh = agent.assignments.slice(seen[index]);
      seen = seen.with(index, agent.assignments.length);
      for (const { ref } of fresh) running.set(ref!.workerId, (running.get(ref!.workerId) ?? 0) + 1);
      most = Math.max(most, ...running.values());
      for (const { ref } of fresh) {
        running.set(ref!.workerId, running.get(ref!.workerId)! - 1);
        agent.finish(ref!);
      }
    });
    const [row] = await core.sql`SELECT count(*)::int AS done FROM job WHERE state = 'COMPLETED'`;
    return row!.done === jobs.length;
  });
  t.equal(most, 3);
  t.ok(
    agents.every((agent) => agent.assignments.length > 0),
    'each replica brought jobs to its own agent',
  );
});

t.test('when the lease of a machine has run out, its jobs run elsewhere', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint();
  const agent = await core.joinAgent({ ...silent, heartbeatMs: 0 });
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments.length === 1);
  agent.drop();
  // Ten seconds are long for a test: the lease ends now.
  await core.sql`UPDATE machine SET lease_expires_at = now() - interval '1 s' WHERE id = ${agent.machineId}`;
  const other = await core.joinAgent();
  const job = await core.wait(endpointId, id, 30_000);
  t.match(job, { state: JobState.COMPLETED, retries: 1, attempt: 2 });
  t.equal(other.assignments[0]?.ref?.attempt, 2);
  await waitFor('its worker to be given up', async () => {
    const [row] = await core.sql`SELECT state, reason FROM worker WHERE machine_id = ${agent.machineId}`;
    return row!.state === 'STOPPED' && row!.reason === 'its machine was lost';
  });
});

t.test('cancelling a running job stops its attempt, and the slot is free when the agent says so', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint();
  const agent = await core.joinAgent({ ...silent, onStop: () => undefined });
  await core.ready(endpointId);
  const first = await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments.length === 1);
  await call(core.clients.jobs, 'cancelJob', { endpointId, jobId: first.id }, core.key);
  await waitFor('the stop', () => agent.stops.length === 1);
  const second = await core.submit(endpointId);
  t.equal(
    (await core.get(endpointId, second.id)).state,
    JobState.IN_QUEUE,
    'the slot is taken until the attempt has ended',
  );
  agent.finish(agent.assignments[0]!.ref!, { kind: OutcomeKind.STOPPED });
  await waitFor('the next', () => agent.assignments.length === 2);
  t.equal(agent.assignments[1]!.ref!.jobId, second.id);
});

t.test('bad hellos and bad keys are refused', async (t) => {
  const core = await startReplicas(t);
  await t.rejects(core.joinAgent({ agentKey: core.key }), { code: 16 }, 'a key of another scope');
  await t.rejects(core.joinAgent({ agentKey: 'rpm_unknown' }), { code: 16 });
  await t.rejects(core.joinAgent({ machineId: 'UPPER' }), { code: 3 });
  const leaveTime = new Date(-8_640_000_000_000_000);
  const details = /^hello\.machine\.leave_time must be a time of the years 1970 to 9999/;
  await t.rejects(core.joinAgent({ leaveTime }), { code: 3, details });
});

t.test('the session of a revoked agent key is closed', async (t) => {
  const core = await startReplicas(t);
  const { key, secret } = await core.createKey(KeyScope.AGENT);
  const agent = await core.joinAgent({ agentKey: secret, heartbeatMs: 100 });
  await call(core.clients.keys, 'revokeKey', { id: key!.id }, core.rootKey);
  t.match(await agent.ended, { code: 16 });
});
