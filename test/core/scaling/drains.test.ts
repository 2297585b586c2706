// test: postgres
/** Drained machines: no new work, also for workers already there; what runs ends, or is handed back at the deadline. */

import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t, 2);
const { clients, key, rootKey } = core;
const drain = async (id: string, deadlineMs?: number, reason = '', apiKey = rootKey) =>
  (await call(clients.machines, 'drainMachine', { id, deadlineMs, reason }, apiKey)).status!;
const uncordon = (id: string) => call(clients.machines, 'cordonMachine', { id, cordoned: false }, rootKey);
const machine = async (id: string) => (await call(clients.machines, 'getMachine', { id }, rootKey)).status!;
const assigned = (agent: ScriptedAgent): string[] => agent.assignments.map(({ ref }) => ref!.jobId);
const isStopping = (agent: ScriptedAgent): boolean =>
  agent.desired.every(({ desired }) => desired === DesiredState.DRAIN);

/** Returns an endpoint whose worker holds a job on a machine that can be drained. */
async function busyMachine(location: string) {
  const agent = await core.joinAgent({ locations: [location], onAssignment: () => undefined, onStop: () => undefined });
  const endpointId = await core.createEndpoint({ locations: [location], workersMin: 1, workersMax: 1 });
  await core.ready(endpointId);
  const { id: jobId } = await core.submit(endpointId);
  await waitFor('the job to be assigned', () => assigned(agent).includes(jobId));
  return { agent, endpointId, jobId };
}

t.test('workers that are there get no new jobs, and end after what they hold', async (t) => {
  const { agent, endpointId, jobId } = await busyMachine('CZ');
  const { name } = (await machine(agent.machineId)).machine!;
  const status = await drain(agent.machineId, undefined, 'new GPUs');
  t.match(status, { cordoned: true, drain: { reason: 'new GPUs', workers: 1, jobs: 1, pods: 0 } });
  t.equal(status.drain!.deadlineTime, undefined);
  await waitFor('the worker to be asked to end', () => isStopping(agent));
  const { id: second } = await core.submit(endpointId);
  const other = await core.joinAgent({ locations: ['CZ'] });
  t.equal((await core.wait(endpointId, second)).state, JobState.COMPLETED, 'another machine takes new jobs');
  t.notOk(assigned(agent).includes(second));
  t.ok(name);
  const [held] = agent.assignments;
  agent.finish(held!.ref!);
  const done = await core.wait(endpointId, jobId);
  t.match(done, { state: JobState.COMPLETED, retries: 0 }, 'what ran came to its end there');
  await waitFor('the machine to be drained', async () => (await machine(agent.machineId)).drain?.workers === 0);
  t.match((await machine(agent.machineId)).drain, { workers: 0, jobs: 0 });
  await uncordon(agent.machineId);
  t.match(await machine(agent.machineId), { cordoned: false, drain: undefined }, 'one word ends both');
  other.drop();
  agent.drop();
});

t.test('at the deadline running jobs are queued again, and that is no retry', async (t) => {
  const { agent, endpointId, jobId } = await busyMachine('US');
  const other = await core.joinAgent({ locations: ['US'] });
  await drain(agent.machineId, 86_400_000);
  await waitFor('the worker to be asked to end', () => isStopping(agent));
  t.same(agent.stops, [], 'nothing is stopped before');
  const { drain: soon } = await drain(agent.machineId, 0, 'now');
  t.ok(soon!.deadlineTime! <= new Date(), 'a second call sets the deadline anew');
  const done = await core.wait(endpointId, jobId);
  t.match(done, { state: JobState.COMPLETED, retries: 0 });
  await waitFor('its agent to be told', () => agent.stops.some(({ ref }) => ref!.jobId === jobId));
  t.ok(assigned(other).includes(jobId), 'it ran on the other machine');
  const { events } = await call(
    clients.audit,
    'listAuditEvents',
    { accountId: '', pageSize: 0, pageToken: '', subjectId: agent.machineId },
    rootKey,
  );
  t.same(
    events.filter(({ action }) => action === 'DrainMachine').map(({ fields }) => fields),
    [['deadline_ms', 'reason'], ['deadline_ms']],
  );
  other.drop();
  agent.drop();
});

t.test('a drain outlives its agent and is refused where it makes no sense', async (t) => {
  const agent = await core.joinAgent({ locations: ['NO'] });
  await drain(agent.machineId);
  agent.drop();
  await core.joinAgent({ locations: ['NO'], machineId: agent.machineId });
  t.match(await machine(agent.machineId), { cordoned: true, drain: { workers: 0 } });
  t.match(await reasonOf(drain(agent.machineId, undefined, '', key)), /^UNAUTHORIZED/, 'for the operator alone');
  t.match(await reasonOf(drain('nosuch000000')), /^NOT_FOUND/);
  t.match(await reasonOf(drain(agent.machineId, -1)), /^INVALID_REQUEST: deadline_ms is -1/);
  t.match(await reasonOf(drain(agent.machineId, 604_800_001)), /^INVALID_REQUEST: deadline_ms is 604800001/);
  t.match(await reasonOf(drain(agent.machineId, 0, 'x'.repeat(501))), /^INVALID_REQUEST: reason is longer than 500/);
  t.match(await reasonOf(drain(agent.machineId, 0, 'a\0b')), /^INVALID_REQUEST: reason/);
});
