// test: postgres, 10 s
/**
 * Short jobs are handed over ahead: to whom, which, and what counts as their start. Scripted agents, real core and
 * database.
 */

import { REVOKE_AFTER_MS } from '@slipway/core/domain/jobs/prefetch';
import { systemClock } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Returns an endpoint whose jobs were short, and a worker that has not asked since. */
async function measured(t: Test) {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint();
  const agent = await core.joinAgent({ onAssignment: () => undefined });
  await core.ready(endpointId);
  const { workerId } = agent.desired[0]!;
  /** Requests `capacity` jobs in addition to those that run. */
  const ask = (capacity: number): void =>
    agent.send({ workers: [{ workerId, endpointId, state: WorkerState.READY, capacity, takesAhead: capacity > 0 }] });
  for (let count = 1; count <= 3; count += 1) {
    ask(1);
    await core.submit(endpointId);
    await waitFor('a job', () => agent.assignments.length === count);
    ask(0);
    agent.finish(agent.assignments.at(-1)!.ref!, { executionMs: 5 });
  }
  await waitFor('their ends', () => agent.acked.length === 3);
  agent.assignments.length = 0;
  return { core, endpointId, agent, ask };
}

/** They have been queued for long enough. */
const old = (
  core: Awaited<ReturnType<typeof startReplicas>>,
) => core.sql`UPDATE job SET submitted_at = submitted_at - interval '1 s',
  ttl_deadline_at = ttl_deadline_at - interval '1 s' WHERE state = 'IN_QUEUE'`;

/** Calls it five times a second until the result is called. */
function repeat(work: () => void): () => void {
  let timer = systemClock.after(0, turn);
  function turn(): void {
    work();
    timer = systemClock.after(200, turn);
  }
  return () => timer.cancel();
}

t.test('jobs with one policy follow the first in order, up to one that differs', async (t) => {
  const { core, endpointId, agent, ask } = await measured(t);
  const same = [];
  for (let index = 0; index < 4; index += 1) same.push((await core.submit(endpointId)).id);
  const other = await core.submit(endpointId);
  await core.sql`UPDATE job SET execution_timeout_ms = 7000 WHERE id = ${other.id}`;
  const after = await core.submit(endpointId);
  await old(core);
  ask(1);
  await waitFor('them', () => agent.assignments.length === 4);
  t.same(
    agent.assignments.map(({ ref, ahead }) => [ref!.jobId, ahead]),
    same.map((id, index) => [id, index > 0]),
  );
  for (const { ref } of agent.assignments.splice(0)) agent.finish(ref!, { executionMs: 5 });
  await waitFor('their ends', () => agent.acked.length === 7);
  ask(1);
  await waitFor('the other', () => agent.assignments.length === 1);
  t.equal(agent.assignments[0]!.ref!.jobId, other.id, 'alone');
  agent.finish(agent.assignments[0]!.ref!);
  await waitFor('the last', () => agent.assignments.length === 2);
  t.equal(agent.assignments[1]!.ref!.jobId, after.id);
});

t.test('a freshly queued job waits for another worker', async (t) => {
  const { core, endpointId, agent, ask } = await measured(t);
  const first = await core.submit(endpointId);
  await old(core);
  const second = await core.submit(endpointId);
  await core.sql`UPDATE job SET submitted_at = now() + interval '1 min',
    ttl_deadline_at = ttl_deadline_at + interval '1 min' WHERE id = ${second.id}`;
  ask(1);
  await waitFor('the first', () => agent.assignments.length > 0);
  agent.finish(agent.assignments[0]!.ref!);
  await waitFor('both', () => agent.assignments.length === 2);
  t.same(
    agent.assignments.map(({ ref, ahead }) => [ref!.jobId, ahead]),
    [
      [first.id, false],
      [second.id, false],
    ],
  );
});

t.test('execution time is per worker, and restarts while the job is prefetched', async (t) => {
  const { core, endpointId, agent, ask } = await measured(t);
  const [front, hand] = [await core.submit(endpointId), await core.submit(endpointId)];
  await old(core);
  ask(1);
  await waitFor('both', () => agent.assignments.length === 2);
  await core.sql`UPDATE job SET started_at = started_at - interval '1 h',
    execution_deadline_at = now() + interval '1 min' WHERE id = ${hand.id}`;
  agent.send({ waiting: [agent.assignments[1]!.ref!] });
  await waitFor('a later deadline', async () => {
    const [row] =
      await core.sql`SELECT execution_deadline_at > now() + interval '5 min' AS later FROM job WHERE id = ${hand.id}`;
    return row!.later as boolean;
  });
  await core.sql`UPDATE job SET started_at = started_at - interval '1 h' WHERE id = ${hand.id}`;
  agent.finish(agent.assignments[0]!.ref!, { executionMs: 9 });
  agent.finish(agent.assignments[1]!.ref!, { executionMs: 7 });
  await core.wait(endpointId, front.id);
  t.equal((await core.wait(endpointId, hand.id)).executionMs, 7);
  const more = [await core.submit(endpointId), await core.submit(endpointId)];
  await old(core);
  ask(1);
  await waitFor('the next', () => agent.assignments.length > 2);
  agent.finish(agent.assignments[2]!.ref!);
  await waitFor('the one after', () => agent.assignments.length === 4);
  t.same(
    agent.assignments.slice(2).map(({ ref, ahead }) => [ref!.jobId, ahead]),
    more.map(({ id }) => [id, false]),
    'none ahead behind a long one',
  );
});

t.test('jobs prefetched behind a long one are revoked once another worker is free, and run there', async (t) => {
  const { core, endpointId, agent, ask } = await measured(t);
  const [long, ...behind] = [
    await core.submit(endpointId),
    await core.submit(endpointId),
    await core.submit(endpointId),
  ];
  await old(core);
  ask(1);
  await waitFor('all', () => agent.assignments.length === 3);
  const refs = agent.assignments.map(({ ref }) => ref!);
  const { workerId } = refs[0]!;
  /** Its agent says again and again that they wait. */
  const stop = repeat(() => agent.send({ waiting: refs.slice(1) }));
  t.teardown(stop);
  await core.sql`UPDATE endpoint SET workers_max = 1 WHERE id = ${endpointId}`;
  const toldMs = performance.now();
  await waitFor('the time to pass', () => performance.now() - toldMs > REVOKE_AFTER_MS + 1_000);
  t.same(agent.recalls, [], 'not of the only worker that there may be');
  await core.sql`UPDATE endpoint SET workers_max = 2 WHERE id = ${endpointId}`;
  await waitFor('a recall', () => agent.recalls.length > 0);
  t.match(agent.recalls[0], { jobId: behind[0]!.id, workerId, attempt: 1 });
  stop();
  agent.send({ workers: [{ workerId, endpointId, state: WorkerState.DRAINING, capacity: 1, refresh: true }] });
  for (const ref of refs.slice(1)) agent.finish(ref, { kind: OutcomeKind.RETURNED });
  const begun = await waitFor('them at another worker', () => {
    const later = agent.assignments.filter(({ ref }) => ref!.attempt === 2).map(({ ref }) => ref!);
    if (later.length === 1) agent.finish(later[0]!, { output: Buffer.from('"there"') });
    return later.length === 2 && later;
  });
  t.notOk(begun.some((ref) => ref.workerId === workerId));
  agent.finish(begun[1]!, { output: Buffer.from('"there"') });
  agent.finish(refs[1]!, { output: Buffer.from('"here"') });
  agent.finish(refs[0]!, { output: Buffer.from('"long"') });
  t.match(await core.wait(endpointId, long!.id), { output: Buffer.from('"long"'), attempt: 1, retries: 0 });
  for (const { id } of behind) {
    t.match(
      await core.wait(endpointId, id),
      { output: Buffer.from('"there"'), attempt: 2, retries: 0 },
      "no retry, and nobody else's word counts",
    );
  }
});

t.test("a prefetching agent holds as many jobs as its worker's capacity, and is refilled at half", async (t) => {
  const { core, endpointId, agent } = await measured(t);
  const { workerId } = agent.desired[0]!;
  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) ids.push((await core.submit(endpointId)).id);
  await old(core);
  agent.send({ workers: [{ workerId, endpointId, state: WorkerState.READY, capacity: 2, keepsAhead: true }] });
  await waitFor('a stock', () => agent.assignments.length === 14);
  t.same(
    agent.assignments.map(({ ref, ahead }) => [ref!.jobId, ahead]),
    ids.slice(0, 14).map((id, index) => [id, index > 1]),
    'four for each measured one',
  );
  for (const { ref } of agent.assignments.slice(0, 9)) agent.finish(ref!, { executionMs: 5 });
  await waitFor('the others', () => agent.assignments.length === 20);
  t.ok(
    agent.assignments.slice(14).every(({ ahead }) => ahead),
    'before it has room',
  );
  for (const { ref } of agent.assignments.slice(9)) agent.finish(ref!, { executionMs: 5 });
  await waitFor('their ends', () => agent.acked.length === 23);
});

t.test('an idle worker of another replica is used, and an agent without recalls gets no prefetch', async (t) => {
  const core = await startReplicas(t, 2);
  const endpointId = await core.createEndpoint({ workersMin: 2, workersMax: 2 });
  const options = { onAssignment: () => undefined, cpuSlots: 1, capacity: 3 };
  const agents = [
    await core.joinAgent(options),
    await core.joinAgent({ ...options, recalls: false }, core.replicas[1]!),
  ];
  await core.ready(endpointId, 2);
  for (let count = 0; count < 6; count += 1) await core.submit(endpointId);
  await waitFor('all to run', () => agents.every(({ assignments }) => assignments.length === 3));
  t.teardown(
    repeat(() => {
      for (const agent of agents) agent.send({ waiting: agent.assignments.slice(1).map(({ ref }) => ref!) });
    }),
  );
  const toldMs = performance.now();
  await waitFor('the time to pass', () => performance.now() - toldMs > REVOKE_AFTER_MS + 500);
  t.same(
    agents.map(({ recalls }) => recalls.length),
    [0, 0],
    'all are busy, and there may be no more',
  );
  agents[1]!.ready([agents[1]!.assignments[0]!.ref!], 0);
  for (const { ref } of agents[1]!.assignments) agents[1]!.finish(ref!);
  await waitFor('a recall', () => agents[0]!.recalls.length > 0);
  t.equal(agents[1]!.recalls.length, 0);
});
