// test: postgres
/** Secrets of an account over gRPC: names, bounds, users, other accounts, and that values stay secret. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { CreateEndpointRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { UpdateSecretRequest } from '@slipway/proto/gen/slipway/v1/secret_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(60_000);

const core = await startReplicas(t);
const { clients } = core;
let made = 0;

const create = async (fields: { name?: string; value?: string; description?: string } = {}, key = core.key) => {
  made += 1;
  return (
    await call(clients.secrets, 'createSecret', { name: `s${made}`, value: 'v', description: '', ...fields }, key)
  ).secret!;
};
const get = async (id: string, key = core.key) => (await call(clients.secrets, 'getSecret', { id }, key)).secret!;
const update = async (id: string, fields: { value?: string; description?: string }, key = core.key) =>
  (await call(clients.secrets, 'updateSecret', UpdateSecretRequest.fromPartial({ id, ...fields }), key)).secret!;
const remove = (id: string, key = core.key) => call(clients.secrets, 'deleteSecret', { id }, key);
const list = async (request: object = {}, key = core.key) =>
  (await call(clients.secrets, 'listSecrets', request, key)).secrets;

t.test('created, read, listed, changed, deleted', async (t) => {
  const secret = await create({ name: 'hf-token', value: 'first', description: 'of the hub' });
  t.match(secret, { id: /^[a-z0-9]{12}$/, name: 'hf-token', description: 'of the hub', users: [], userCount: 0 });
  t.same(
    Object.keys(secret).sort(),
    ['createTime', 'description', 'id', 'name', 'userCount', 'users', 'valueSetTime'],
    'nothing else is shown',
  );
  t.same(await get(secret.id), secret);
  const second = await create({ name: 'zz' });
  t.same(await list(), [secret, second], 'oldest first');
  t.same(await list({ view: { search: '', orderBy: '', descending: false, filters: { name: 'zz' } } }), [second]);
  t.same(await list({ view: { search: 'HUB', orderBy: 'changed', descending: true, filters: {} } }), [secret]);

  const described = await update(secret.id, { description: '' });
  t.same(described, { ...secret, description: '' }, 'the value was not set anew');
  const changed = await update(secret.id, { value: 'second' });
  t.ok(changed.valueSetTime! > secret.valueSetTime!);
  await remove(secret.id);
  for (const act of [() => get(secret.id), () => update(secret.id, { value: 'x' }), () => remove(secret.id)])
    t.match(await reasonOf(act()), new RegExp(`^NOT_FOUND: There is no secret "${secret.id}"`));
  await remove(second.id);
});

t.test('names and bounds', async (t) => {
  const { id } = await create({ name: 'taken' });
  t.match(await reasonOf(create({ name: 'taken' })), /^NAME_TAKEN: .*"taken"/);
  const two = await Promise.allSettled([create({ name: 'race' }), create({ name: 'race' })]);
  t.same(two.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'of two at the same moment one wins');
  for (const [fields, why] of [
    [{ name: '' }, /name has 0/],
    [{ name: 'x'.repeat(192) }, /name has 192/],
    [{ name: '1st' }, /name must begin with a letter/],
    [{ name: 'a b' }, /name must begin with a letter/],
    [{ name: 'a}}' }, /name must begin with a letter/],
    [{ name: 'runPod_x' }, /must not begin with RUNPOD/],
    [{ value: '' }, /value has 0 bytes, but must have 1 to 131072/],
    [{ value: 'é'.repeat(65_537) }, /value has 131074 bytes/],
    [{ value: 'secret\0' }, /value contains a character/],
    [{ description: 'x'.repeat(65_536) }, /description has 65536 bytes, but may have 65535/],
  ] as const) {
    const reason = await reasonOf(create({ name: 'n', ...fields }));
    t.match(reason, /^INVALID_REQUEST: /, JSON.stringify(fields).slice(0, 60));
    t.match(reason, why);
    t.notMatch(reason, /secret\0/);
  }
  t.match(await reasonOf(update(id, {})), /^INVALID_REQUEST: value or description must be set/);
  t.match(await reasonOf(update(id, { value: '' })), /^INVALID_REQUEST: value has 0/);
  const largest = { name: `_${'x'.repeat(190)}`, value: 'v'.repeat(131_072), description: 'd'.repeat(65_535) };
  t.match(await create(largest), { name: largest.name });
  t.ok(await create({ name: 'a/b.c-d_e' }));
});

t.test("another account's secrets are not found, and a key for some endpoints sees none", async (t) => {
  const secret = await create({ name: 'mine' });
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  t.match(await reasonOf(get(secret.id, stranger)), /^NOT_FOUND/);
  t.match(await reasonOf(update(secret.id, { value: 'x' }, stranger)), /^NOT_FOUND/);
  t.match(await reasonOf(remove(secret.id, stranger)), /^NOT_FOUND/);
  t.same(await list({}, stranger), []);
  t.equal((await create({ name: 'mine' }, stranger)).name, 'mine', "names are an account's own");
  const limited = await core.newKey(KeyScope.ALL, [await core.createEndpoint({ workersMin: 0 })]);
  t.same(await list({}, limited), []);
  t.match(await reasonOf(get(secret.id, limited)), /^NOT_FOUND/);
});

t.test('limits of an account', async (t) => {
  const accountId = await core.newAccount('hoarder');
  const key = await core.newKey(undefined, [], accountId);
  await core.sql`
    INSERT INTO secret (id, account_id, name, value_sealed)
    SELECT 'hoard' || lpad(n::text, 7, '0'), ${accountId}, 'h' || n, '' FROM generate_series(1, 499) AS n`;
  const last = await Promise.allSettled([create({ name: 'one' }, key), create({ name: 'two' }, key)]);
  t.same(
    last.map(({ status }) => status).sort(),
    ['fulfilled', 'rejected'],
    'of two at the same moment one is the last',
  );
  t.match(
    await reasonOf(create({ name: 'three' }, key)),
    /^INVALID_REQUEST: the account has 500 secrets, the maximum; delete an unused one/,
  );
  await remove('hoard0000001', key);
  t.ok(await create({ name: 'three' }, key));
});

t.test('users: templates, endpoints and pods that mention it', async (t) => {
  const secret = await create({ name: 'used' });
  const env = { TOKEN: 'Bearer {{ RUNPOD_SECRET_used }}' };
  const templateId = await core.createTemplate({ name: 'a-template', env });
  const plainId = await core.createTemplate();
  const endpointId = await core.createEndpoint({ name: 'an-endpoint', templateId: plainId, env, workersMin: 0 });
  const own = await call(
    clients.endpoints,
    'createEndpoint',
    CreateEndpointRequest.fromPartial({
      endpoint: { name: 'own', workersMin: 0 },
      ownTemplate: { template: { startCommand: ['true'], env }, updateMask: ['start_command', 'env'] },
    }),
    core.key,
  );
  await core.joinAgent({ startWorkers: false });
  const pod = await podCalls(clients, core.key).create({
    name: 'a-pod',
    computeType: 'CPU',
    startCommand: ['true'],
    env,
  });
  const users = [
    { kind: 'TEMPLATE', id: templateId, name: 'a-template' },
    { kind: 'ENDPOINT', id: endpointId, name: 'an-endpoint' },
    { kind: 'ENDPOINT', id: own.endpoint!.id, name: 'own' },
    { kind: 'POD', id: pod.id, name: 'a-pod' },
  ];
  t.match(await get(secret.id), { users, userCount: 4 });
  t.same((await list()).find(({ id }) => id === secret.id)!.users, users, 'in the list too');
  await core.updateEndpoint(endpointId, { env: {} });
  t.match(await get(secret.id), { userCount: 3 });
  t.equal((await core.sql`SELECT FROM endpoint WHERE id = ${endpointId} AND secret_names = '{}'`).length, 1);
});

t.test('environments of an earlier release are read once', async (t) => {
  const secret = await create({ name: 'from-before' });
  const templateId = await core.createTemplate({ env: { A: '{{ RUNPOD_SECRET_from-before }}' } });
  const brokenId = await core.createTemplate({ env: { A: '{{ RUNPOD_SECRET_from-before }}' } });
  await core.sql`UPDATE template SET secret_names = NULL WHERE id IN (${templateId}, ${brokenId})`;
  await core.sql`UPDATE template SET env_sealed = '' WHERE id = ${brokenId}`;
  t.match(await get(secret.id), { userCount: 0 });
  await core.startReplica();
  await waitFor('the names', async () => (await get(secret.id)).userCount === 1);
  t.same(await core.sql`SELECT secret_names FROM template WHERE id = ${brokenId}`, [{ secret_names: [] }]);
});
