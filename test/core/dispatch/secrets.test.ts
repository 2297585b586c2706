// test: postgres
/**
 * Secrets on their way to workers and pods: values are in the start order alone, a change reaches what starts later,
 * and for want of a secret nothing starts and everybody is told why.
 */
import { Writable } from 'node:stream';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import { pino } from 'pino';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

const lines: string[] = [];
const logger = pino(
  { level: 'trace' },
  new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  }),
);
const core = await startReplicas(t, 1, {}, { logger });
const { clients, key } = core;
let agent = await core.joinAgent({ cpuSlots: 1_000 });
const pods = podCalls(clients, key);
const VALUE = 'thundering-typhoons';

const create = async (name: string, value = VALUE) =>
  (await call(clients.secrets, 'createSecret', { name, value, description: '' }, key)).secret!.id;
const update = (id: string, value: string) => call(clients.secrets, 'updateSecret', { id, value }, key);
const remove = (id: string) => call(clients.secrets, 'deleteSecret', { id }, key);
const reference = (name: string): string => `{{ RUNPOD_SECRET_${name} }}`;
const endpointWith = async (env: Record<string, string>, own: Record<string, string> = {}) =>
  core.createEndpoint({ templateId: await core.createTemplate({ env }), env: own, workersMax: 1 });
const workersOf = (endpointId: string) => agent.desired.filter((worker) => worker.endpointId === endpointId);
const ordered = (endpointId: string, not?: string) =>
  waitFor('a start order', () => workersOf(endpointId).find(({ workerId }) => workerId !== not));
const summaryOf = async (endpointId: string) =>
  (await call(clients.endpoints, 'explain', { endpointId }, key)).explanation!.summary;
/** Returns the worst problem of an endpoint. The list of an account is read at most once a second. */
const problemOf = (endpointId: string, kind: string) =>
  waitFor(`the problem ${kind}`, async () => {
    const { problems } = await call(clients.problems, 'listProblems', { limit: 20, endpointId }, key);
    return problems[0]?.kind === kind && problems[0];
  });
const health = async (endpointId: string) =>
  (await call(clients.jobs, 'getHealth', { endpointId }, key)).workers!.cannotRunReason;

t.test('secret values are in start orders and nowhere else', async (t) => {
  await create('pw');
  const url = `postgres://me:${reference('pw')}@db`;
  const endpointId = await endpointWith({ URL: 'overridden', A: reference('pw') }, { URL: url, PLAIN: 'x' });
  const env = { A: VALUE, URL: `postgres://me:${VALUE}@db`, PLAIN: 'x' };
  t.match((await ordered(endpointId)).spec?.env, env);
  await core.ready(endpointId);
  const pod = await pods.create({ computeType: 'CPU', startCommand: ['true'], env: { URL: url } });
  const told = await waitFor('the pod', () => agent.desiredPods.find(({ podId }) => podId === pod.id));
  t.match(told, { refusal: '', spec: { env: { URL: env.URL } } });

  t.match((await call(clients.endpoints, 'getEndpoint', { id: endpointId }, key)).endpoint!.env, { URL: url });
  t.same((await pods.get(pod.id)).env, { URL: url }, 'reads answer what was written');
  const tables = await core.sql<
    { name: string }[]
  >`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const hex = Buffer.from(VALUE).toString('hex');
  for (const { name } of tables) {
    const rows = await core.sql`SELECT t::text AS row FROM ${core.sql(name)} t`;
    t.notOk(
      rows.some(({ row }) => row.includes(VALUE) || row.includes(hex)),
      `${name} holds no value`,
    );
  }
  t.ok(
    lines.some((line) => line.includes('CreateSecret')),
    'calls are logged',
  );
  t.notOk(
    lines.some((line) => line.includes(VALUE)),
    'without values',
  );
  await pods.remove(pod.id);
});

t.test('a changed value reaches workers that start later', async (t) => {
  const id = await create('rotated', 'first');
  const endpointId = await endpointWith({ A: reference('rotated') });
  const first = await ordered(endpointId);
  t.equal(first.spec?.env['A'], 'first');
  await core.ready(endpointId);
  await update(id, 'second');
  agent.send({ workers: [{ workerId: first.workerId, endpointId, state: WorkerState.UNHEALTHY, reason: 'crashed' }] });
  const next = await ordered(endpointId, first.workerId);
  t.equal(next.spec?.env['A'], 'second');
  t.equal(next.spec?.version, first.spec?.version, 'the endpoint has no new version');
  await remove(id);
  await core.ready(endpointId);
  const running = agent.desired.map((one) => ({ ...one, state: WorkerState.READY, capacity: 1 }));
  agent.drop();
  agent = await core.joinAgent({ machineId: agent.machineId, cpuSlots: 1_000, workers: running });
  await waitFor('the order for the worker that runs', () =>
    workersOf(endpointId).find((one) => one.workerId === next.workerId),
  );
  t.match(
    await core.sql`SELECT state FROM worker WHERE id = ${next.workerId}`,
    [{ state: 'READY' }],
    'one that runs goes on without the deleted secret',
  );
});

t.test('without its secret no worker starts, and every view names the secret', async (t) => {
  const endpointId = await endpointWith({ HF_TOKEN: reference('hf'), FINE: 'x' });
  const text = 'its variable HF_TOKEN names the secret "hf", which the account does not have';
  const change = 'create it (slipway secrets set hf), or correct HF_TOKEN';
  t.equal(await health(endpointId), `${text}: ${change}`, 'before a worker was tried');
  const crashed = await waitFor('the refused start', async () => {
    const [row] = await core.sql<{ id: string; reason: string }[]>`
      SELECT id, reason FROM worker WHERE endpoint_id = ${endpointId} AND state = 'UNHEALTHY'`;
    return row;
  });
  t.equal(crashed.reason, `I${text.slice(1)}: ${change}.`);
  t.same(workersOf(endpointId), [], 'no start order was sent');
  await core.submit(endpointId);
  const problem = `No worker of its latest version can start: ${text}. To change that: ${change}.`;
  t.equal(await summaryOf(endpointId), `At least one job waits and none runs. ${problem}`);
  t.match(
    await problemOf(endpointId, 'SECRET_UNKNOWN'),
    {
      kind: 'SECRET_UNKNOWN',
      broken: true,
      text: problem,
    },
    'the worst first',
  );
  await core.sql`UPDATE worker SET failures = 9, retry_at = now() + interval '1 h' WHERE id = ${crashed.id}`;

  await create('hf');
  const worker = await ordered(endpointId);
  t.match(worker.spec?.env, { HF_TOKEN: VALUE, FINE: 'x' });
  t.match(
    await core.sql`SELECT failures FROM worker WHERE id = ${worker.workerId}`,
    [{ failures: 0 }],
    'as a first try',
  );
  // Counts of an endpoint are reused for a moment.
  await waitFor('the reason to go', async () => (await health(endpointId)) === '');
  t.notMatch(await summaryOf(endpointId), /secret/);
});

t.test('an endpoint that overrides the variable needs no such secret', async (t) => {
  const endpointId = await endpointWith({ A: reference('nobody-has-it') }, { A: 'own' });
  t.match((await ordered(endpointId)).spec?.env, { A: 'own' });
  t.equal(await health(endpointId), '');
});

t.test('a value that cannot be decrypted blocks its worker only', async (t) => {
  const id = await create('damaged');
  await core.sql`UPDATE secret SET value_sealed = (SELECT value_sealed FROM secret WHERE name = 'pw') WHERE id = ${id}`;
  const endpointId = await endpointWith({ A: reference('damaged') });
  const [row] = await waitFor('the refused start', async () => {
    const rows = await core.sql`SELECT reason FROM worker WHERE endpoint_id = ${endpointId} AND state = 'UNHEALTHY'`;
    return rows.length > 0 && rows;
  });
  t.match(row!['reason'], /^The secret "damaged" of its variable A does not open .* \(slipway secrets set damaged\)/);
  t.ok(await ordered(await endpointWith({ A: reference('pw') })));
  await update(id, 'repaired');
  t.match((await ordered(endpointId)).spec?.env, { A: 'repaired' });
});

t.test("another account's public template gets no secrets", async (t) => {
  const stranger = await core.newKey(undefined, [], await core.newAccount('publisher'));
  const templateId = await core.createTemplate({ public: true, env: { LEAK: reference('pw') } }, stranger);
  const endpointId = await core.createEndpoint({ templateId, workersMax: 1 });
  t.match(
    await health(endpointId),
    /another account's and names the secret "pw" in LEAK, .*: set LEAK in the variables/,
  );
  t.ok(await problemOf(endpointId, 'SECRET_OF_FOREIGN_TEMPLATE'));
  await core.updateEndpoint(endpointId, { env: { LEAK: reference('pw') } });
  t.match((await ordered(endpointId)).spec?.env, { LEAK: VALUE }, 'its owner gives it one');
});

t.test('a pod without its secret fails with the reason, and starts once there is one', async (t) => {
  const pod = await pods.create({ computeType: 'CPU', startCommand: ['true'], env: { A: reference('of-pod') } });
  const told = await waitFor('the pod', () => agent.desiredPods.find(({ podId }) => podId === pod.id));
  t.match(told, { running: true, run: 1, spec: undefined, refusal: /^Its variable A names the secret "of-pod"/ });
  agent.send({ pods: [{ podId: pod.id, run: 1, state: PodState.FAILED, reason: told.refusal }] });
  t.match(await pods.reach(pod.id, 'FAILED'), { statusText: told.refusal });
  const problem = await waitFor('the problem', async () => {
    const { problems } = await call(clients.problems, 'listProblems', { limit: 100, endpointId: '' }, key);
    return problems.find(({ id }) => id === pod.id);
  });
  t.match(problem, { kind: 'POD_FAILED', text: told.refusal });
  const id = await create('of-pod');
  const run = await waitFor('its next run', () =>
    agent.desiredPods.find((one) => one.podId === pod.id && one.run === 2),
  );
  t.match(run, { refusal: '', spec: { env: { A: VALUE } } });
  agent.send({ pods: [{ podId: pod.id, run: 2, state: PodState.RUNNING }] });
  await pods.reach(pod.id, 'RUNNING');
  await update(id, 'later');
  t.match(await pods.get(pod.id), { state: PodState.RUNNING }, 'one that runs is not restarted');
  await pods.act('restartPod', pod.id);
  const third = await waitFor('the run after', () =>
    agent.desiredPods.find((one) => one.podId === pod.id && one.run === 3),
  );
  t.match(third.spec?.env, { A: 'later' });
});
