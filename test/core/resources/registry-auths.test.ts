// test: postgres
/** Registry credentials over gRPC: names, bounds, use, other accounts, and that their secrets stay secret. */
import { Writable } from 'node:stream';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import { pino } from 'pino';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const USERNAME = 'captain-haddock';
const PASSWORD = 'thundering-typhoons';

const create = async (
  core: CoreReplicas,
  fields: { name?: string; username?: string; password?: string } = {},
  key = core.key,
) =>
  (
    await call(
      core.clients.registryAuths,
      'createRegistryAuth',
      { name: 'hub', username: USERNAME, password: PASSWORD, ...fields },
      key,
    )
  ).registryAuth!;
const update = (
  core: CoreReplicas,
  id: string,
  fields: { username?: string; password?: string } = {},
  key = core.key,
) =>
  call(core.clients.registryAuths, 'updateRegistryAuth', { id, username: 'tintin', password: 'snowy', ...fields }, key);
const remove = (core: CoreReplicas, id: string, key = core.key) =>
  call(core.clients.registryAuths, 'deleteRegistryAuth', { id }, key);

t.test('created, read, listed, replaced, deleted', async (t) => {
  const core = await startReplicas(t);
  const auth = await create(core);
  t.match(auth, { id: /^[a-z0-9]{12}$/, name: 'hub' });
  t.same(Object.keys(auth).sort(), ['createTime', 'id', 'name'], 'nothing else is shown');
  t.same((await call(core.clients.registryAuths, 'getRegistryAuth', { id: auth.id }, core.key)).registryAuth, auth);
  const second = await create(core, { name: 'other hub' });
  t.same(
    (await call(core.clients.registryAuths, 'listRegistryAuths', {}, core.key)).registryAuths,
    [auth, second],
    'oldest first',
  );
  const sealed = async () =>
    (await core.sql`SELECT credentials_sealed AS s FROM registry_auth WHERE id = ${auth.id}`)[0]!.s as Buffer;
  const before = await sealed();
  t.same((await update(core, auth.id)).registryAuth, auth);
  t.notSame(await sealed(), before);
  await remove(core, auth.id);
  for (const act of [
    () => call(core.clients.registryAuths, 'getRegistryAuth', { id: auth.id }, core.key),
    () => update(core, auth.id),
    () => remove(core, auth.id),
  ])
    t.match(await reasonOf(act()), new RegExp(`^NOT_FOUND: There are no registry credentials "${auth.id}"`));
});

t.test('names and bounds', async (t) => {
  const core = await startReplicas(t);
  const { id } = await create(core);
  t.match(await reasonOf(create(core)), /^NAME_TAKEN: .*"hub"/);
  const two = await Promise.allSettled([create(core, { name: 'race' }), create(core, { name: 'race' })]);
  t.same(two.map((result) => result.status).sort(), ['fulfilled', 'rejected'], 'of two at the same moment one wins');
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  t.equal((await create(core, {}, stranger)).name, 'hub', "names are an account's own");
  for (const [fields, why] of [
    [{ name: '' }, /name has 0/],
    [{ name: 'x'.repeat(192) }, /name has 192/],
    [{ username: '' }, /username has 0 characters, but must have 1 to 1024/],
    [{ username: 'x'.repeat(1_025) }, /username has 1025/],
    [{ password: '' }, /password has 0 characters, but must have 1 to 16384/],
    [{ password: 'x'.repeat(16_385) }, /password has 16385/],
    [{ password: 'secret\0' }, /password contains a character/],
  ] as const) {
    const reason = await reasonOf(create(core, { name: 'n', ...fields }));
    t.match(reason, /^INVALID_REQUEST: /, JSON.stringify(fields).slice(0, 60));
    t.match(reason, why);
    t.notMatch(reason, /secret/);
  }
  t.match(await reasonOf(update(core, id, { username: '' })), /^INVALID_REQUEST: username/);
  t.match(await reasonOf(update(core, id, { password: '' })), /^INVALID_REQUEST: password/);
  t.ok(await create(core, { name: 'edge', username: 'u'.repeat(1_024), password: 'p'.repeat(16_384) }));
});

t.test('credentials in use stay, and the refusal names their users', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const { id } = await create(core);
  const templateId = await core.createTemplate({ imageName: 'private/image', startCommand: [], registryAuthId: id });
  await core.sql`
    INSERT INTO pod (id, account_id, name, registry_auth_id, machine_id, image_name)
    VALUES ('pod00000000001', ${core.accountId}, 'p', ${id}, ${agent.machineId}, 'private/image')`;
  t.match(
    await reasonOf(remove(core, id)),
    new RegExp(`^IN_USE: The registry credentials are used by template ${templateId}, pod pod00000000001; `),
  );
  await call(core.clients.templates, 'deleteTemplate', { id: templateId }, core.key);
  await core.sql`DELETE FROM pod`;
  await remove(core, id);
});

t.test("another account's credentials are not found", async (t) => {
  const core = await startReplicas(t);
  const { id } = await create(core);
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  t.match(await reasonOf(call(core.clients.registryAuths, 'getRegistryAuth', { id }, stranger)), /^NOT_FOUND/);
  t.match(await reasonOf(update(core, id, {}, stranger)), /^NOT_FOUND/);
  t.match(await reasonOf(remove(core, id, stranger)), /^NOT_FOUND/);
  t.same((await call(core.clients.registryAuths, 'listRegistryAuths', {}, stranger)).registryAuths, []);
});

t.test('nothing of the secrets is in the database or in the log', async (t) => {
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
  const { id } = await create(core);
  await update(core, id, { username: USERNAME, password: PASSWORD });
  await reasonOf(create(core, { password: `${PASSWORD}\0` }));
  await reasonOf(create(core));
  const tables = await core.sql<
    { name: string }[]
  >`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  t.ok(tables.length > 15);
  for (const { name } of tables) {
    const rows = await core.sql`SELECT t::text AS row FROM ${core.sql(name)} t`;
    for (const secret of [USERNAME, PASSWORD]) {
      const hex = Buffer.from(secret).toString('hex');
      t.notOk(
        rows.some((row) => row.row.includes(secret) || row.row.includes(hex)),
        `${name} holds no secret`,
      );
    }
  }
  t.ok(
    lines.some((line) => line.includes('createRegistryAuth') || line.includes('CreateRegistryAuth')),
    'calls are logged',
  );
  for (const secret of [USERNAME, PASSWORD])
    t.notOk(
      lines.some((line) => line.includes(secret)),
      'without secrets',
    );
});

t.test('corrected credentials end the back-off of workers that failed with the previous ones', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ startWorkers: false });
  const { id } = await create(core);
  const fields = { imageName: 'registry.example/me/worker:1', startCommand: [], registryAuthId: id };
  const templateId = await core.createTemplate(fields);
  const endpointId = await core.createEndpoint({ templateId, workersMin: 1, workersMax: 1 });
  const tried = () => agent.desired.filter((worker) => worker.endpointId === endpointId);
  const first = await waitFor('a worker', () => tried()[0]);
  t.match(first.spec?.registryCredentials, { username: USERNAME, password: PASSWORD, name: 'hub' });
  agent.send({ workers: [{ workerId: first.workerId, endpointId, state: WorkerState.UNHEALTHY, reason: 'refused' }] });
  const stored = async () =>
    (await core.sql<{ state: string }[]>`SELECT state FROM worker WHERE id = ${first.workerId}`)[0]!;
  await waitFor('its crash', async () => (await stored()).state === 'UNHEALTHY');
  await core.sql`UPDATE worker SET failures = 9, retry_at = now() + interval '1 h' WHERE id = ${first.workerId}`;

  const pods = podCalls(core.clients, core.key);
  const pod = await pods.create({ computeType: 'CPU', imageName: fields.imageName, registryAuthId: id });
  const started = async (run: number) =>
    waitFor(`run ${run} of the pod`, () => agent.desiredPods.find((one) => one.podId === pod.id && one.run === run));
  await started(1);
  agent.send({ pods: [{ podId: pod.id, run: 1, state: PodState.FAILED, reason: 'refused' }] });
  await pods.reach(pod.id, 'FAILED');

  await update(core, id);
  const corrected = { username: 'tintin', password: 'snowy', name: 'hub' };
  const next = await waitFor('its successor', () => tried().find(({ workerId }) => workerId !== first.workerId));
  t.match(next.spec?.registryCredentials, corrected);
  t.match(await core.sql`SELECT failures FROM worker WHERE id = ${next.workerId}`, [{ failures: 0 }], 'as a first try');
  t.match((await started(2)).spec?.registryCredentials, corrected);
  await update(core, id, { password: 'again' });
  t.match(await core.sql`SELECT run FROM pod WHERE id = ${pod.id}`, [{ run: 2 }], 'one that has not failed goes on');
});
