// test: postgres, 20 s
/** Differences between the job table and the agents are corrected, even if no event announced them. */

import { SessionEndReason } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined };

t.test('a claim that never reached its worker is returned without counting a retry', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint({ retryLimit: 0 });
  await core.ready(endpointId);
  const busy = await core.submit(endpointId);
  const { ref } = await waitFor('it to run', () => agent.assignments[0]);
  const lost = await core.submit(endpointId);
  // As if the claim had committed and its answer had been lost with the connection.
  await core.sql`
    UPDATE job SET state = 'IN_PROGRESS', attempt = 1, machine_id = ${agent.machineId}, worker_id = ${ref!.workerId},
      started_at = now(),
      execution_deadline_at = now() + interval '10 min' WHERE id = ${lost.id}`;
  await waitFor('it to go back', async () => (await core.get(endpointId, lost.id)).state === JobState.IN_QUEUE, 15_000);
  t.equal((await core.get(endpointId, busy.id)).state, JobState.IN_PROGRESS, 'what the worker holds goes on');
  agent.finish(ref!);
  const again = await waitFor('its turn', () => agent.assignments[1]);
  t.match(again.ref, { jobId: lost.id, attempt: 2 });
  agent.finish(again.ref!);
  t.match(await core.wait(endpointId, lost.id), { state: JobState.COMPLETED, retries: 0 });
});

t.test('a session that its agent has left without a word gives none of its attempts away', async (t) => {
  const core = await startReplicas(t, 2);
  const left = await core.joinAgent({ ...silent, heartbeatMs: 0, startWorkers: false });
  const { machineId } = left;
  const agent = await core.joinAgent({ ...silent, machineId }, core.replicas[1]);
  const endpointId = await core.createEndpoint({ retryLimit: 0 });
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  const { ref } = await waitFor('it to run', () => agent.assignments[0]);
  await left.ended;
  t.equal(left.end?.reason, SessionEndReason.LEASE_OVER, 'until then its replica took it for alive');
  agent.finish(ref!);
  t.match(await core.wait(endpointId, id), { state: JobState.COMPLETED, attempt: 1 });
  t.same(agent.stops, []);
});

t.test('a stale attempt is stopped repeatedly until it has ended', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ ...silent, onStop: () => undefined });
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments[0]);
  await core.sql`DELETE FROM job WHERE id = ${id}`;
  await waitFor('the stop, and again', () => agent.stops.length >= 2, 15_000);
  t.equal(agent.stops[0]!.ref!.jobId, id);
  t.equal(agent.stops[0]!.ref!.workerId, agent.assignments[0]!.ref!.workerId);
});
