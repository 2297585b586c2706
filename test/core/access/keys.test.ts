// test: postgres, 10 s
/** Keys, scopes and accounts over gRPC: who may do what, and how fast a revoked key stops working on every replica. */

import type { KeyPermissions } from '@slipway/proto/gen/slipway/v1/access_service';
import { Api, KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('who may do what', async (t) => {
  const core = await startReplicas(t);
  const { clients } = core;
  const mine = await core.createEndpoint({ workersMin: 0 });
  const other = await core.createEndpoint({ workersMin: 0 });
  const strangerId = await core.newAccount();
  const keys: Record<string, string> = {
    all: core.key,
    reads: await core.newKey(KeyScope.READ_ONLY),
    one: await core.newKey(KeyScope.ALL, [mine]),
    agent: core.agentKey,
    stranger: await core.newKey(KeyScope.ALL, [], strangerId),
    root: core.rootKey,
    wrong: 'rpa_wrong',
    none: '',
    long: 'x'.repeat(10_000),
  };
  const rack = await core.createKey(KeyScope.AGENT);
  const check = (endpointId: string, write: boolean) => (key: string) =>
    call(clients.access, 'checkAccess', { endpointId, write, api: Api.JOBS }, key);
  const change = { endpoint: Endpoint.fromPartial({ id: mine, name: 'n' }), updateMask: ['name'] };
  const createKey = (request: { scope?: KeyScope; endpointIds?: string[]; accountId?: string }) => (key: string) =>
    call(
      clients.keys,
      'createKey',
      { name: 'k', scope: KeyScope.ALL, endpointIds: [], accountId: '', permissions: undefined, ...request },
      key,
    );
  const OK = 'ok';
  const NO = 'UNAUTHORIZED';
  const GONE = 'ENDPOINT_NOT_FOUND';
  const rows: [what: string, act: (key: string) => Promise<unknown>, expected: Record<string, string>][] = [
    [
      'read an endpoint',
      check(mine, false),
      { all: OK, reads: OK, one: OK, agent: NO, stranger: GONE, root: OK, wrong: NO, none: NO, long: NO },
    ],
    ['write to it', check(mine, true), { all: OK, reads: NO, one: OK, agent: NO, stranger: GONE, root: OK, wrong: NO }],
    ['write to another', check(other, true), { all: OK, reads: NO, one: NO, stranger: GONE }],
    ['name an unknown one', check('nosuchendpoint', false), { all: GONE, reads: GONE, one: NO, root: GONE, wrong: NO }],
    [
      'check the key alone',
      check('', false),
      { all: OK, reads: OK, one: OK, agent: NO, stranger: OK, root: OK, wrong: NO },
    ],
    [
      'get it',
      (key) => call(clients.endpoints, 'getEndpoint', { id: mine }, key),
      { all: OK, reads: OK, one: OK, stranger: GONE, agent: NO, root: OK },
    ],
    [
      'list endpoints',
      (key) => call(clients.endpoints, 'listEndpoints', {}, key),
      { all: OK, reads: OK, one: OK, stranger: OK, agent: NO, root: NO },
    ],
    [
      'update it',
      (key) => call(clients.endpoints, 'updateEndpoint', change, key),
      { all: OK, reads: NO, one: OK, stranger: GONE, agent: NO },
    ],
    [
      'delete it',
      (key) => call(clients.endpoints, 'deleteEndpoint', { id: mine }, key),
      { reads: NO, stranger: GONE, agent: NO, wrong: NO },
    ],
    [
      'list workers',
      (key) => call(clients.machines, 'listWorkers', { endpointId: mine }, key),
      { all: OK, reads: OK, stranger: GONE, agent: NO },
    ],
    [
      'list machines',
      (key) => call(clients.machines, 'listMachines', {}, key),
      { all: NO, reads: NO, one: NO, agent: NO, root: OK },
    ],
    [
      'list keys',
      (key) => call(clients.keys, 'listKeys', { accountId: '' }, key),
      { all: OK, agent: NO, wrong: NO, root: OK },
    ],
    [
      'revoke a key of a machine',
      (key) => call(clients.keys, 'revokeKey', { id: rack.key!.id }, key),
      { all: 'NOT_FOUND', stranger: 'NOT_FOUND', agent: NO, reads: NO, root: OK },
    ],
    [
      'create an account',
      (key) => call(clients.access, 'createAccount', { name: 'test' }, key),
      { all: NO, agent: NO, root: OK, none: NO },
    ],
    ['create a key', createKey({}), { all: OK, reads: NO, one: NO, agent: NO, root: 'INVALID_REQUEST' }],
    ['create an agent key', createKey({ scope: KeyScope.AGENT }), { all: NO, stranger: NO, root: OK }],
    [
      'create one of an account',
      createKey({ scope: KeyScope.AGENT, accountId: core.accountId }),
      { all: NO, root: 'INVALID_REQUEST' },
    ],
    ['create a key for another account', createKey({ accountId: strangerId }), { all: NO, root: OK }],
    ['create a key for a foreign endpoint', createKey({ endpointIds: [mine] }), { all: OK, stranger: GONE }],
    [
      'submit',
      (key) => call(clients.jobs, 'purgeQueue', { endpointId: mine }, key),
      { all: OK, reads: NO, stranger: GONE, agent: NO },
    ],
  ];
  for (const [what, act, expected] of rows) {
    for (const [name, wanted] of Object.entries(expected)) {
      const got = await act(keys[name]!).then(
        () => OK,
        (error: { reason: string }) => error.reason,
      );
      t.equal(got, wanted, `${name}: ${what}`);
    }
  }
  const listed = await call(clients.endpoints, 'listEndpoints', {}, keys.one!);
  t.same(
    listed.endpoints.map((endpoint) => endpoint.id),
    [mine],
    'a restricted key sees its endpoints',
  );
  t.same((await call(clients.endpoints, 'listEndpoints', {}, keys.stranger!)).endpoints, []);
  await core.newKey(KeyScope.ALL, [mine, other]);
  const shown = (await call(clients.keys, 'listKeys', { accountId: '' }, keys.one!)).keys;
  t.same([...new Set(shown.map((key) => String(key.endpointIds)))], [mine], 'and the keys for nothing else');
});

t.test('permissions belong to restricted keys, and only to them', async (t) => {
  const core = await startReplicas(t);
  const create = (scope: KeyScope, permissions: KeyPermissions | undefined) =>
    call(core.clients.keys, 'createKey', { name: 'k', scope, endpointIds: [], accountId: '', permissions }, core.key);
  const { key } = await create(KeyScope.RESTRICTED, { management: Permission.READ, jobs: Permission.READ_WRITE });
  const wanted = {
    scope: KeyScope.RESTRICTED,
    permissions: { management: Permission.READ, jobs: Permission.READ_WRITE },
  };
  t.match(key, wanted);
  t.match((await call(core.clients.keys, 'listKeys', { accountId: '' }, core.key)).keys.at(-1), wanted);
  const both = { management: Permission.READ, jobs: Permission.READ };
  t.match(
    await reasonOf(create(KeyScope.RESTRICTED, undefined)),
    /^INVALID_REQUEST: permissions belong to keys of scope RESTRICTED/,
  );
  t.match(await reasonOf(create(KeyScope.ALL, both)), /^INVALID_REQUEST: permissions belong/);
  t.match(await reasonOf(create(KeyScope.READ_ONLY, both)), /^INVALID_REQUEST: permissions belong/);
  t.match(
    await reasonOf(create(KeyScope.RESTRICTED, { ...both, jobs: 9 as Permission })),
    /^INVALID_REQUEST: permissions.jobs has a value/,
  );
  t.match(await reasonOf(create(9 as KeyScope, undefined)), /^INVALID_REQUEST: scope must be/);
});

t.test('a grant says what a facade needs', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const id = await core.createEndpoint();
  await core.ready(id);
  const grant = await call(
    core.clients.access,
    'checkAccess',
    { endpointId: id, write: true, api: Api.JOBS },
    core.key,
  );
  t.match(grant, { accountId: core.accountId, endpointType: EndpointType.QB, workersRunning: 1 });
  t.ok(grant.validMs > 0 && grant.validMs <= 5_000);
});

t.test('keys are shown once and stored hashed; account names are unique', async (t) => {
  const core = await startReplicas(t);
  t.match(core.key, /^rpa_[A-Za-z0-9]{40}$/);
  t.match(core.agentKey, /^rpm_[A-Za-z0-9]{40}$/);
  t.match(core.accountId, /^user_[A-Za-z0-9]{27}$/);
  t.equal(
    (await call(core.clients.access, 'createAccount', { name: 'test' }, core.rootKey)).accountId,
    core.accountId,
    'the same name, the same account',
  );
  const stored = JSON.stringify(await core.sql`SELECT *, secret_hash::text AS hash FROM api_key`);
  t.notMatch(stored, core.key.slice(4));
  const { keys } = await call(core.clients.keys, 'listKeys', { accountId: '' }, core.key);
  t.same(
    keys.map((key) => [key.name, key.scope]),
    [['test', KeyScope.ALL]],
    "keys of machines are not the account's",
  );
  const machines = (await call(core.clients.keys, 'listKeys', { accountId: '' }, core.rootKey)).keys;
  t.match(machines, [{ name: 'test', scope: KeyScope.AGENT, machineId: '' }], "but the operator's");
});

t.test('a revoked key stops on both replicas, at once where the notice arrives, within 5 s without it', async (t) => {
  const core = await startReplicas(t, 2);
  const other = grpcClients(core.replicas[1]!.address);
  t.teardown(() => other.close());
  const { key, secret } = await core.createKey(KeyScope.ALL);
  const works = (clients: typeof other) =>
    call(clients.access, 'checkAccess', { endpointId: '', write: false, api: Api.JOBS }, secret).then(
      () => true,
      () => false,
    );
  t.same(await Promise.all([works(core.clients), works(other)]), [true, true]);
  await call(core.clients.keys, 'revokeKey', { id: key!.id }, core.key);
  t.equal(await works(core.clients), false, 'here at once');
  await waitFor('the other replica', async () => !(await works(other)));
  t.match(await reasonOf(call(core.clients.keys, 'revokeKey', { id: 'nosuch' }, core.key)), /^NOT_FOUND/);
  // No event announces the change, as after a manual update of the row.
  const second = await core.createKey(KeyScope.ALL);
  const secondWorks = () =>
    call(other.access, 'checkAccess', { endpointId: '', write: false, api: Api.JOBS }, second.secret).then(
      () => true,
      () => false,
    );
  t.equal(await secondWorks(), true);
  await core.sql`UPDATE api_key SET revoked_at = now() WHERE id = ${second.key!.id}`;
  await waitFor('the cache to end', async () => !(await secondWorks()));
});

t.test('both root keys work while the root key is exchanged', async (t) => {
  const previous = 'the-previous-root-key-of-this-test';
  const core = await startReplicas(t, 1, { SLIPWAY_PREVIOUS_ROOT_KEY: previous });
  const list = (key: string) => call(core.clients.access, 'listAccounts', {}, key);
  t.ok((await list(core.rootKey)).accounts.length);
  t.ok((await list(previous)).accounts.length);
  t.match(await reasonOf(list(`${previous}x`)), /^UNAUTHORIZED/);
});
