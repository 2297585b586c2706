// test: postgres
/**
 * The agent of one machine cannot affect another machine. The attacker holds a real key of a machine and speaks raw
 * gRPC.
 */

import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { AttemptRef, FetchInputResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceClient, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined, onStop: () => undefined };
const forged = Buffer.from('"forged"');

/** Returns the calls beside the session, with any key. A rejected call returns its text. */
function sideCalls(t: Test, core: CoreReplicas, key: string) {
  const client = systemTransport.openClient(AgentServiceClient, core.replicas[0]!.address);
  t.teardown(() => client.close());
  const metadata = callMetadata(key);
  return {
    fetchInput: (ref: AttemptRef): Promise<string> =>
      new Promise((resolve) => {
        let input = '';
        client
          .fetchInput({ ref }, metadata)
          .on('data', ({ piece }: FetchInputResponse) => {
            input += piece.toString();
          })
          .on('error', (error) => resolve(error.message))
          .on('end', () => resolve(input));
      }),
    reportOutcome: (ref: AttemptRef): Promise<string> =>
      new Promise((resolve) => {
        const stream = client.reportOutcome(metadata, (error) => resolve(error ? error.message : 'taken'));
        stream.write({ outcome: { ref, kind: OutcomeKind.COMPLETED, output: undefined, error: '' }, piece: forged });
        stream.end();
      }),
  };
}

/**
 * Makes a victim whose job runs on its machine, and an attacker with another machine, which has a worker of another
 * account's endpoint.
 */
async function setup(t: Test) {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({ workersMax: 1 });
  const victim = await core.joinAgent({ ...silent, cpuSlots: 1 });
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId, { secret: 42 });
  const ref = await waitFor('the job to run', () => victim.assignments[0]?.ref);
  const attacker = await core.joinAgent({ ...silent, heartbeatMs: 100 });
  return { core, endpointId, victim, attacker, id, ref, attackerKey: await core.keyOf(attacker.machineId) };
}

t.test('inputs and outcomes beside the session', async (t) => {
  const { core, endpointId, victim, id, ref, attackerKey } = await setup(t);
  const attack = sideCalls(t, core, attackerKey);
  t.match(await attack.fetchInput(ref), /NOT_FOUND/);
  t.equal(await attack.reportOutcome(ref), 'taken', 'like that of any attempt that is not current');
  const fresh = sideCalls(t, core, await core.newKey(KeyScope.AGENT));
  t.match(await fresh.fetchInput(ref), /UNAUTHENTICATED: No machine has joined with this key/);
  t.match(await fresh.reportOutcome(ref), /UNAUTHENTICATED/);
  const root = sideCalls(t, core, core.rootKey);
  t.match(await root.fetchInput(ref), /UNAUTHENTICATED/);
  t.match(await core.get(endpointId, id), { state: JobState.IN_PROGRESS, output: undefined });
  const own = sideCalls(t, core, await core.keyOf(victim.machineId));
  t.equal(await own.fetchInput(ref), '{"secret":42}', 'its own machine gets it');
  t.equal(await own.reportOutcome(ref), 'taken');
  t.match(await core.get(endpointId, id), { state: JobState.COMPLETED, output: forged });
});

t.test('a session under a known machine id', async (t) => {
  const { core, endpointId, victim, id, ref, attackerKey } = await setup(t);
  const { machineId } = victim;
  const workers = [{ workerId: ref.workerId, endpointId, state: WorkerState.READY, capacity: 9 }];
  for (const agentKey of [attackerKey, await core.newKey(KeyScope.AGENT), core.rootKey, core.key]) {
    const refusal = await core
      .joinAgent({ agentKey, machineId, held: [ref], workers })
      .catch((error: unknown) => error);
    t.match(refusal, { code: 16 });
  }
  t.match(await core.joinAgent({ agentKey: attackerKey, machineId }).catch((error: unknown) => error), {
    details: new RegExp(
      `^This key belongs to machine \\w+, but this is machine ${machineId}\\..*keys create NAME --scope agent$`,
    ),
  });
  t.match(
    await core.joinAgent({ agentKey: await core.newKey(KeyScope.AGENT), machineId }).catch((error: unknown) => error),
    { details: /has joined with another key, which still works.*keys revoke ID --scope agent/ },
  );
  victim.finish(ref);
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED, 'the victim was not even disturbed');
});

t.test('reports on the session', async (t) => {
  const { core, endpointId, victim, attacker, id, ref } = await setup(t);
  const { workerId } = ref;
  attacker.send({
    workers: [workerId, 'w-of-nobody'].map((id) => ({
      workerId: id,
      endpointId,
      state: WorkerState.READY,
      capacity: 50,
    })),
    chunks: [{ ref, number: 1, output: forged }],
    progress: [{ ref, output: forged }],
    outcomes: [{ ref, kind: OutcomeKind.COMPLETED, output: forged, error: '' }],
  });
  await waitFor('its answer', () => attacker.acked.length === 1 && attacker.chunkAcks.length === 1);
  attacker.send({ workers: [{ workerId, endpointId, state: WorkerState.STOPPED, reason: 'forged' }] });
  attacker.send({ chunks: [{ ref, number: 2, output: Buffer.from('no JSON') }] });
  attacker.send({ outcomes: [{ ref, kind: OutcomeKind.LOST, output: undefined, error: 'forged' }] });
  await waitFor('its answer', () => attacker.acked.length === 2);
  t.match(await core.get(endpointId, id), { state: JobState.IN_PROGRESS, attempt: 1, output: undefined });
  t.same(await core.sql`SELECT FROM job_chunk`, []);
  const second = await core.submit(endpointId);
  t.equal(
    (await core.get(endpointId, second.id)).state,
    JobState.IN_QUEUE,
    'the place of the running job was not freed',
  );
  t.same(attacker.assignments, [], "nor do jobs come to a worker that is not the attacker's");
  t.match(await core.sql`SELECT id, state, machine_id FROM worker`, [
    { id: workerId, state: 'READY', machine_id: victim.machineId },
  ]);
  victim.send({ chunks: [{ ref, number: 1, output: Buffer.from('"true"') }] });
  victim.finish(ref);
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  t.equal((await core.sql`SELECT FROM job_chunk`).length, 1);
  t.match(await waitFor('the next job', () => victim.assignments[1]?.ref), { jobId: second.id });
});

t.test('a hello that claims the attempts and workers of another machine', async (t) => {
  const { core, endpointId, victim, attacker, id, ref, attackerKey } = await setup(t);
  attacker.drop();
  const workers = [{ workerId: ref.workerId, endpointId, state: WorkerState.READY, capacity: 50 }];
  const again = await core.joinAgent({
    ...silent,
    agentKey: attackerKey,
    machineId: attacker.machineId,
    held: [ref],
    workers,
  });
  t.match(await waitFor('its stop', () => again.stops[0]), { ref: { jobId: id } }, 'the attempt is none of its own');
  const second = await core.submit(endpointId);
  victim.finish(ref);
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  const next = await waitFor('the next job', () => victim.assignments[1]?.ref);
  t.match(next, { jobId: second.id, workerId: ref.workerId }, "and the worker is still the victim's");
  t.same(again.assignments, []);
});

t.test('an own worker reported under another endpoint', async (t) => {
  const core = await startReplicas(t);
  const own = await core.createEndpoint({ workersMax: 1 });
  const attacker = await core.joinAgent(silent);
  await core.ready(own);
  const workerId = attacker.desired[0]!.workerId;
  const target = await core.createEndpoint({ workersMin: 0, workersMax: 1, gpuIds: ['ADA_24'], gpuCount: 1 });
  const { id } = await core.submit(target, { secret: 42 });
  attacker.ready([{ workerId, endpointId: target }], 50);
  attacker.drop();
  const workers = [{ workerId, endpointId: target, state: WorkerState.READY, capacity: 50 }];
  const again = await core.joinAgent({ ...silent, machineId: attacker.machineId, workers });
  const mine = await core.submit(own);
  t.match(await waitFor('its own job', () => again.assignments[0]?.ref), { jobId: mine.id });
  t.same(again.assignments.length, 1);
  t.equal((await core.get(target, id)).state, JobState.IN_QUEUE);
});

t.test('a log that another machine was asked for', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({ workersMax: 1 });
  let asked = 0;
  const victim = await core.joinAgent({
    ...silent,
    cpuSlots: 1,
    onLogRequest: () => {
      asked += 1;
      return undefined;
    },
  });
  await core.ready(endpointId);
  const attacker = await core.joinAgent(silent);
  const read = call(
    core.clients.machines,
    'getWorkerLog',
    { workerId: victim.desired[0]!.workerId, tailBytes: 100 },
    core.key,
  );
  await waitFor('the request', () => asked === 1);
  attacker.send({ logReplies: [{ requestId: 1, found: true, log: Buffer.from('forged') }] });
  await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
  victim.send({ logReplies: [{ requestId: 1, found: true, log: Buffer.from('true') }] });
  t.equal((await read).log.toString(), 'true');
});

t.test('a new key is bound by the first machine, once, on all replicas', async (t) => {
  const core = await startReplicas(t, 2);
  const { key, secret: agentKey } = await core.createKey(KeyScope.AGENT);
  const machineIds = Array.from({ length: 6 }, (_, i) => `binding0000${i}`);
  const joins = await Promise.allSettled(
    machineIds.map((machineId, i) => core.joinAgent({ agentKey, machineId }, core.replicas[i % 2])),
  );
  const joined = machineIds.filter((_, i) => joins[i]!.status === 'fulfilled');
  t.equal(joined.length, 1, 'one of six');
  const { keys } = await call(core.clients.keys, 'listKeys', { accountId: '' }, core.rootKey);
  t.equal(keys.find(({ id }) => id === key!.id)!.machineId, joined[0]);
  const second = await core.createKey(KeyScope.AGENT);
  await t.rejects(
    core.joinAgent({ agentKey: second.secret, machineId: joined[0]! }),
    { code: 16 },
    'a machine has one key',
  );
  await call(core.clients.keys, 'revokeKey', { id: key!.id }, core.rootKey);
  await core.joinAgent({ agentKey: second.secret, machineId: joined[0]! });
  t.pass('and another one when the first was revoked');
});
