// test: postgres, 30 s
/**
 * Problems of one account, or of all accounts: each kind with its reason, worst first, counted, and none of another
 * account.
 */

import { systemTransport } from '@slipway/kit/net/channel';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { EdgeServiceClient, RequestLimit, RequestOperation } from '@slipway/proto/gen/slipway/v1/edge_service';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { ListProblemsResponse, Problem } from '@slipway/proto/gen/slipway/v1/problem_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const core = await startReplicas(t);
const { clients, key, rootKey, sql } = core;
const list = (given: { limit?: number; endpointId?: string } = {}, apiKey = key): Promise<ListProblemsResponse> =>
  call(clients.problems, 'listProblems', { limit: 0, endpointId: '', ...given }, apiKey);
/** Waits until a problem of this kind is reported. Returns it. */
const told = (kind: string, endpointId = '', apiKey = key): Promise<Problem> =>
  waitFor(`${kind} to be told`, async () =>
    (await list({ limit: 100, endpointId }, apiKey)).problems.find((problem) => problem.kind === kind),
  );
const gone = (kind: string, apiKey = key) =>
  waitFor(`${kind} to be over`, async () =>
    (await list({ limit: 100 }, apiKey)).problems.every((problem) => problem.kind !== kind),
  );
const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '', unhealthy: '' };
const agent = await core.joinAgent({ gpus: [L4], cpuSlots: 100, onAssignment: () => undefined });
const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());

t.test('a busy healthy endpoint has no problem', async (t) => {
  const id = await core.createEndpoint({ computeType: 'CPU', workersMax: 1 });
  await core.ready(id);
  await core.submit(id);
  await core.submit(id);
  await waitFor('one to run', () => agent.assignments.length === 1);
  t.same(await list(), { problems: [], total: 0 });
  t.same(await list({}, rootKey), { problems: [], total: 0 });
});

t.test('an endpoint that can run nowhere, one without workers for its jobs, a queue that is old or full', async (t) => {
  const nowhere = await core.createEndpoint({ name: 'nowhere', gpuIds: ['AMPERE_80'], workersMin: 0 });
  const { text, ...problem } = await told('CANNOT_RUN');
  t.same(problem, {
    kind: 'CANNOT_RUN',
    broken: true,
    about: 'ENDPOINT',
    id: nowhere,
    name: 'nowhere',
    accountId: core.accountId,
    jobId: '',
  });
  t.match(text, /^No machine can run it, as it needs .*: 1 machine has other GPUs\.$/);
  t.match(
    (await told('CANNOT_RUN', '', rootKey)).text,
    new RegExp(`^${agent.machineId}: `, 'i'),
    'machines by name for the operator alone',
  );
  const idle = await core.createEndpoint({ name: 'idle', computeType: 'CPU', workersMin: 0, workersMax: 0 });
  await core.submit(idle);
  t.match(await told('NO_PLACE'), {
    id: idle,
    broken: false,
    text: 'Jobs wait, but workersMax is 0: raise it to let workers start.',
  });
  await sql`UPDATE job SET submitted_at = now() - interval '9 minutes' WHERE endpoint_id = ${idle}`;
  t.notOk((await list({ limit: 100 })).problems.some(({ kind }) => kind === 'OLD_QUEUE'));
  await sql`UPDATE job SET submitted_at = now() - interval '14 minutes' WHERE endpoint_id = ${idle}`;
  t.match(await told('OLD_QUEUE', idle), { broken: true, text: /^A job has waited 14 min/ });
  await sql`UPDATE endpoint_tally SET queued = queued + 49 WHERE endpoint_id = ${idle} AND queued > 0`;
  t.match(await told('QUEUE_LENGTH'), {
    id: idle,
    broken: true,
    text: /^50 jobs wait and 50 is the most .*\. To change that: wait until jobs are done/,
  });
  const quota = (queuedJobs: number | undefined) =>
    call(clients.access, 'setQuota', { accountId: core.accountId, quota: { queuedJobs } }, rootKey);
  await quota(20);
  t.match(await told('QUEUED_JOBS'), {
    about: 'ACCOUNT',
    id: core.accountId,
    text: /^51 jobs of the account wait and its quota is 20/,
  });
  t.notOk(
    (await list({ endpointId: idle })).problems.some(({ about }) => about === 'ACCOUNT'),
    'which is no problem of an endpoint',
  );
  await quota(undefined);
  await gone('QUEUED_JOBS');
  const { problems } = await list();
  t.same(
    problems.map(({ broken }) => broken),
    problems
      .map(({ broken }) => broken)
      .sort()
      .reverse(),
    'the worst first',
  );
  await core.updateEndpoint(nowhere, { workersMax: 0 });
  await sql`DELETE FROM job WHERE endpoint_id = ${idle}`;
  await sql`UPDATE endpoint_tally SET queued = 0 WHERE endpoint_id = ${idle}`;
  await gone('OLD_QUEUE');
});

t.test('a worker that crashed, webhook calls that were given up, a pod that failed', async (t) => {
  const id = await core.createEndpoint({ name: 'crashes', computeType: 'CPU', workersMin: 1 });
  await core.ready(id);
  await sql`UPDATE worker SET state = 'UNHEALTHY', failures = 1, retry_at = now() + interval '1 hour'
    WHERE endpoint_id = ${id}`;
  t.match(await told('WORKERS_CRASHED', id), { broken: true, text: /^One worker has crashed or could not start/ });
  const calls = (jobId: string, minutesAgo: number, delivered = false) => sql`
    INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives, ended_at)
    VALUES (${id}, ${jobId}, ${minutesAgo}, ${delivered}, 3, ${`it answered 50${minutesAgo % 10}`}, 0,
      now() - ${minutesAgo}::int * interval '1 minute')`;
  await calls('delivered', 1, true);
  await calls('older', 61);
  t.notOk(
    (await list({ endpointId: id })).problems.some(({ kind }) => kind === 'WEBHOOKS_GIVEN_UP'),
    'neither what was delivered nor what is an hour ago',
  );
  await calls('first', 7);
  await calls('second', 3);
  t.match(await told('WEBHOOKS_GIVEN_UP'), {
    id,
    jobId: 'second',
    broken: true,
    text: '2 webhook calls were given up within the last hour, the latest because it answered 503.',
  });
  const pod = Pod.fromPartial({ name: 'notebook', startCommand: ['true'], computeType: 'CPU' });
  const { pod: made } = await call(clients.pods, 'createPod', { pod }, key);
  await sql`UPDATE pod SET state = 'FAILED', status_text = 'it ended with exit code 3' WHERE id = ${made!.id}`;
  t.match(await told('POD_FAILED'), {
    about: 'POD',
    id: made!.id,
    name: 'notebook',
    broken: true,
    text: 'It ended with exit code 3.',
  });
  await call(clients.pods, 'stopPod', { id: made!.id }, key);
  await gone('POD_FAILED');
  await sql`DELETE FROM webhook_result`;
  await core.updateEndpoint(id, { workersMin: 0, workersMax: 0 });
  await sql`UPDATE worker SET ended_at = now() WHERE endpoint_id = ${id}`;
  await gone('WORKERS_CRASHED');
});

t.test("limits: the account's quota of workers, and refused requests", async (t) => {
  await call(clients.access, 'setQuota', { accountId: core.accountId, quota: { workers: 1 } }, rootKey);
  const id = await core.createEndpoint({ name: 'cut', computeType: 'CPU', workersMin: 0 });
  await core.submit(id);
  const { kind, broken } = await waitFor(
    'its workers to be kept away',
    async () => (await list({ endpointId: id })).problems[0],
  );
  t.ok(['NO_PLACE', 'QUOTA'].includes(kind) && !broken, kind);
  t.match((await list({ endpointId: id })).problems[0]!.text, /quota/);
  await call(clients.access, 'setQuota', { accountId: core.accountId, quota: {} }, rootKey);
  const edge = systemTransport.openClient(EdgeServiceClient, core.replicas[0]!.address);
  t.teardown(() => edge.close());
  const refused = [{ limit: RequestLimit.RATE, operation: RequestOperation.RUN, most: 100, count: 7 }];
  await call(edge, 'tellRefusals', { endpoints: [{ endpointId: id, apiKey: key, refused }] }, '');
  t.match(await told('REQUEST_RATE'), { id, broken: false, text: /^More than 100 requests to run .*: 7 were refused/ });
});

t.test('of the operator: machines that are cordoned, ill or away, by name', async (t) => {
  await call(clients.machines, 'cordonMachine', { id: agent.machineId, cordoned: true }, rootKey);
  t.match(await told('MACHINE_CORDONED', '', rootKey), {
    about: 'MACHINE',
    id: agent.machineId,
    broken: false,
    accountId: '',
  });
  const drain = { id: agent.machineId, deadlineMs: undefined, reason: 'new fans' };
  await call(clients.machines, 'drainMachine', drain, rootKey);
  await waitFor('the drain to be told', async () =>
    (await list({ limit: 100 }, rootKey)).problems.some(
      ({ kind, text }) =>
        kind === 'MACHINE_CORDONED' && /^It is drained: .* no more jobs\. Reason: New fans\.$/.test(text),
    ),
  );
  await call(clients.machines, 'cordonMachine', { id: agent.machineId, cordoned: false }, rootKey);
  await gone('MACHINE_CORDONED', rootKey);
  await sql`UPDATE machine SET gpus = jsonb_set(gpus, '{0,unhealthy}', '"Xid 79"') WHERE id = ${agent.machineId}`;
  await sql`UPDATE machine SET agent_version = '0.0.1' WHERE id = ${agent.machineId}`;
  t.match(await told('AGENT_NOT_SERVED', '', rootKey), {
    broken: false,
    text: /version 0\.0\.1, .*: update the agent\.$/,
  });
  t.match(await told('GPU_UNHEALTHY', '', rootKey), { broken: true, text: /L4: Xid 79\. Nothing new .*--gpu UUID\.$/ });
  t.notOk(
    (await list({ limit: 100 })).problems.some(({ about }) => about === 'MACHINE'),
    "machines are nobody else's business",
  );
});

t.test('the owner of a pod learns that its machine is drained, and why', async (t) => {
  const pod = Pod.fromPartial({ name: 'moves', startCommand: ['true'], computeType: 'CPU' });
  const { pod: made } = await call(clients.pods, 'createPod', { pod }, key);
  const { machineId } = agent;
  t.same(await sql`SELECT machine_id FROM pod WHERE id = ${made!.id}`, [{ machine_id: machineId }]);
  await call(clients.machines, 'drainMachine', { id: machineId, deadlineMs: undefined, reason: '' }, rootKey);
  const drained = (text: RegExp): Promise<Problem> =>
    waitFor(`a problem of the pod, ${text}`, async () =>
      (await list({ limit: 100 })).problems.find((one) => one.id === made!.id && text.test(one.text)),
    );
  t.match(await drained(/^Its machine is being emptied\. The pod stays on it .*create it again\.$/), {
    kind: 'POD_MACHINE_DRAINED',
    about: 'POD',
    name: 'moves',
    broken: true,
  });
  await call(clients.machines, 'drainMachine', { id: machineId, deadlineMs: 3_600_000, reason: 'new fans' }, rootKey);
  await drained(/^Its machine is being emptied; the deadline is 20\S+Z\. Reason: New fans\. /);
  const { problems } = await list({ limit: 100 }, stranger);
  t.notOk(
    problems.some(({ kind }) => kind === 'POD_MACHINE_DRAINED'),
    'nothing of pods of others',
  );
  await call(clients.machines, 'cordonMachine', { id: machineId, cordoned: false }, rootKey);
  await gone('POD_MACHINE_DRAINED');
  await call(clients.pods, 'deletePod', { id: made!.id }, key);
});

t.test('which caller sees which problem', async (t) => {
  const broken = await core.createEndpoint({ name: 'broken', gpuIds: ['AMPERE_80'], workersMin: 0 });
  const other = await core.createEndpoint({ name: 'other', gpuIds: ['AMPERE_80'], workersMin: 0 });
  await waitFor(
    'both',
    async () => (await list({ limit: 100 })).problems.filter(({ id }) => [broken, other].includes(id)).length === 2,
  );
  t.same(await list({}, stranger), { problems: [], total: 0 }, 'nothing of others');
  t.same(
    (await list({}, await core.newKey(KeyScope.READ_ONLY, [broken]))).problems.map(({ id }) => id),
    [broken],
    'a key for one endpoint',
  );
  await t.rejects(list({ endpointId: broken }, stranger), /no endpoint/i);
  for (const limit of [-1, 101]) await t.rejects(list({ limit }), /must be from 1 to 100/);
});

t.test('100 broken endpoints of 5,000: all counted, as many listed as requested', async (t) => {
  const columns = await sql<{ name: string }[]>`
    SELECT column_name AS name FROM information_schema.columns
    WHERE table_name = 'endpoint' AND column_name NOT IN ('id', 'name', 'gpu_ids', 'gpu_count', 'compute_type')`;
  const others = columns.map(({ name }) => `"${name}"`).join(', ');
  const model = await core.createEndpoint({ name: 'model', computeType: 'CPU', workersMin: 0, workersMax: 1 });
  const before = (await list()).total;
  await sql.unsafe(`INSERT INTO endpoint (id, name, gpu_ids, gpu_count, compute_type, ${others})
    SELECT 'many' || lpad(i::text, 10, '0'), 'many ' || i, CASE WHEN i % 50 = 0 THEN ARRAY['NVIDIA H100 80GB HBM3']
      ELSE '{}' END,
      CASE WHEN i % 50 = 0 THEN 1 ELSE 0 END, CASE WHEN i % 50 = 0 THEN 'GPU' ELSE 'CPU' END, ${others}
    FROM endpoint, generate_series(1, 5000) AS i WHERE endpoint.id = '${model}'`);
  await sql`INSERT INTO endpoint_tally (endpoint_id, slot, queued) SELECT id, slot, 0
    FROM endpoint, generate_series(1, 20) AS slot WHERE id LIKE 'many%'`;
  const startedMs = performance.now();
  const { problems } = await waitFor('all of them to be counted', async () => {
    const found = await list({ limit: 7 });
    return found.total === before + 100 && found;
  });
  t.equal(problems.length, 7);
  t.comment(`${Math.round(performance.now() - startedMs)} ms until they were told`);
});
