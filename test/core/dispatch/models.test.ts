// test: postgres
/** Cached models between core and agents: reports, start orders, the commit of a revision, machines to copy from. */

import { CachedModelState, ModelFault } from '@slipway/proto/gen/slipway/v1/machine';
import { checkModelPeerToken } from '@slipway/proto/wire/model-peer-token';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { cached, commit, GB, modelCalls, models } from './model-fleet.ts';

t.setTimeout(120_000);
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const { ordered, settle, remove } = modelCalls(core);
const stored = (agent: ScriptedAgent) =>
  core.sql`SELECT * FROM machine_model WHERE machine_id = ${agent.machineId} ORDER BY repository, revision`;

t.test('reports: stored as they change, bounded, without what is malformed', async (t) => {
  const many = Array.from({ length: 250 }, (_, i) => cached(`org/m${i}`));
  const agent = await core.joinAgent({ models: models(...many), cpuSlots: 0 });
  t.equal((await stored(agent)).length, 200, 'those of the hello, the first ones');
  const { status } = await call(clients.machines, 'getMachine', { id: agent.machineId }, rootKey);
  t.equal(status!.machine!.id, agent.machineId);
  const xmin = async () =>
    (await core.sql`SELECT xmin::text AS x FROM machine_model WHERE repository = 'org/m1'`)[0]!.x;
  const before = await xmin();
  agent.send({
    models: models(
      cached('org/m1'),
      cached('org/m1', { revision: 'v2', state: CachedModelState.DOWNLOADING, downloadedBytes: GB, error: 'not yet' }),
      cached('org/m1', { commit: commit('b') }),
      cached('no-org'),
      cached('a/../b'),
      cached('org/x', { revision: '../x' }),
      cached('org/x', { commit: 'abc' }),
      cached('org/x', { commit: '' }),
      cached('org/x', { accountNumber: -1 }),
      cached('org/x', { state: CachedModelState.UNSPECIFIED }),
      cached('org/y', { state: CachedModelState.FAILED, fault: ModelFault.FORBIDDEN, error: 'x\0'.repeat(3_000) }),
    ),
  });
  const rows = await waitFor('the change', async () => {
    const found = await stored(agent);
    return found.length === 3 && found;
  });
  t.match(rows, [
    { repository: 'org/m1', revision: 'main', commit: commit('a'), state: 'READY', fault: '', error: '' },
    { repository: 'org/m1', revision: 'v2', state: 'DOWNLOADING', error: '' },
    { repository: 'org/y', state: 'FAILED', fault: 'FORBIDDEN', error: 'x'.repeat(1_024) },
  ]);
  t.equal(await xmin(), before, 'what is as it was is not written');
  const page = await call(clients.machines, 'getMachine', { id: agent.machineId }, rootKey);
  t.match(page, { modelLimitBytes: 10 * GB, modelUsedBytes: 2 * GB, modelPeerAddress: '10.0.0.1:8080' });
  t.match(page.models, [
    { repository: 'org/m1', state: CachedModelState.READY },
    { state: CachedModelState.DOWNLOADING, downloadedBytes: GB },
    { state: CachedModelState.FAILED, fault: ModelFault.FORBIDDEN },
  ]);
  const listed = await call(clients.machines, 'listMachineModels', { repository: 'org/m1' }, rootKey);
  t.match(listed.models, [{ machineId: agent.machineId, model: { revision: 'main' } }, { model: { revision: 'v2' } }]);
  t.match(await reasonOf(call(clients.machines, 'listMachineModels', { repository: '' }, key)), /^UNAUTHORIZED/);
  t.match(await reasonOf(call(clients.machines, 'listMachineModels', { repository: '..' }, rootKey)), /^INVALID/);
  agent.drop();
  const older = await core.joinAgent({ machineId: agent.machineId, cpuSlots: 0 });
  t.equal((await stored(older)).length, 0, 'an agent that says nothing of models has none');
  older.drop();
});

t.test('a start order has models, hub, token and the commit that the first machine found', async (t) => {
  const location = ['EU-CZ-1'];
  const [one, two] = [
    await core.joinAgent({ models: models(), locations: location, cpuSlots: 2 }),
    await core.joinAgent({ models: models(), locations: location, cpuSlots: 2 }),
  ];
  const modelReferences = ['https://huggingface.co/org/big', 'org/other:v1'];
  const endpointId = await core.createEndpoint({
    modelReferences,
    locations: location,
    env: { HF_TOKEN: 'hf_secret' },
    workersMin: 1,
    workersMax: 4,
  });
  t.same((await call(clients.endpoints, 'getEndpoint', { id: endpointId }, key)).endpoint!.modelReferences, [
    'org/big',
    'org/other:v1',
  ]);
  const owner = await waitFor('the worker', () => [one, two].find((agent) => ordered(agent, endpointId).length > 0));
  const other = owner === one ? two : one;
  t.match(ordered(owner, endpointId)[0]!.spec, {
    models: [
      { repository: 'org/big', revision: 'main', commit: '' },
      { repository: 'org/other', revision: 'v1', commit: '' },
    ],
    modelHub: { address: 'https://huggingface.co', token: 'hf_secret' },
  });
  const wanted = { endpointId, repository: 'org/big' };
  t.same(await settle(owner, wanted), { commit: '', peers: [] }, 'nobody knows');
  t.same(await settle(owner, { ...wanted, commit: commit('1') }), { commit: commit('1'), peers: [] });
  t.equal((await settle(owner, { ...wanted, commit: commit('2') })).commit, commit('1'), 'the first wins');
  for (const wrong of [
    { repository: 'org' },
    { revision: '' },
    { revision: '../x' },
    { commit: 'main' },
    { commit: commit('G') },
  ])
    t.match(await reasonOf(settle(owner, { ...wanted, ...wrong })), /^INVALID_REQUEST/, JSON.stringify(wrong));
  for (const wrong of [{ endpointId: 'nobody' }, { endpointId: 'a\0' }, { version: 9 }, { repository: 'org/unnamed' }])
    t.match(await reasonOf(settle(owner, { ...wanted, ...wrong })), /^NOT_FOUND/, JSON.stringify(wrong));
  t.match(await reasonOf(settle(other, wanted)), /^NOT_FOUND/, 'a machine without a worker of it');

  await core.updateEndpoint(endpointId, { workersMin: 3 });
  const later = await waitFor('a worker of the other machine', () => ordered(other, endpointId)[0]);
  t.equal(later.spec!.models[0]!.commit, commit('1'), 'later workers are told with their spec');
  await core.updateEndpoint(endpointId, { modelReferences: ['org/big:v2'] });
  const next = await waitFor('the next version', () =>
    [one, two].flatMap(({ desired }) => desired).find(({ spec }) => spec?.version === 1),
  );
  t.match(next.spec!.models, [{ repository: 'org/big', revision: 'v2', commit: '' }], 'a change replaces the workers');
  const { releases } = await call(clients.endpoints, 'listReleases', { endpointId, pageSize: 1, beforeId: 0 }, key);
  t.match(
    releases[0]!.values.find(({ field }) => field === 'model_references'),
    { oldJson: '["org/big","org/other:v1"]', newJson: '["org/big:v2"]' },
  );
  await remove(endpointId);
  for (const agent of [one, two]) agent.drop();
});

t.test('machines to copy from: connected ones that have the commit, with a token for it alone', async (t) => {
  const [{ number }] = (await core.sql`SELECT number FROM account WHERE id = ${core.accountId}`) as unknown as [
    { number: number },
  ];
  const needs = await core.joinAgent({ models: models(), locations: ['near', 'here'] });
  const [near, far, foreign, mine, elsewhere] = [
    await core.joinAgent({ models: models(cached('org/m')), locations: ['near'] }),
    await core.joinAgent({ models: models(cached('org/m', { revision: 'v1' })), locations: ['far'] }),
    await core.joinAgent({ models: models(cached('org/m', { accountNumber: number + 1_000 })) }),
    await core.joinAgent({ models: models(cached('org/gated', { accountNumber: number })) }),
    await core.joinAgent({ models: models(cached('org/m', { commit: commit('b') })) }),
  ];
  const endpointId = await core.createEndpoint({ modelReferences: ['org/m', 'org/gated'], locations: ['here'] });
  await waitFor('the worker', () => ordered(needs, endpointId)[0]);
  const found = await settle(needs, { endpointId, repository: 'org/m' });
  t.equal(found.commit, commit('a'), 'without the hub, what most machines have');
  t.same(
    found.peers.map(({ address }) => address),
    ['10.0.0.1:8080', '10.0.0.1:8080'],
    'two have that commit',
  );
  const nowSeconds = Date.now() / 1_000;
  const model = { repository: 'org/m', commit: commit('a'), accountNumber: 0 };
  const accepts = (agent: ScriptedAgent, { token }: { token: string }) =>
    checkModelPeerToken(agent.welcome!.modelPeerKey, model, token, nowSeconds);
  t.ok(accepts(near!, found.peers[0]!), 'the nearest first');
  t.ok(accepts(far!, found.peers[1]!));
  t.notOk(accepts(elsewhere!, found.peers[0]!), 'each machine has a key of its own');
  const gated = await settle(needs, { endpointId, repository: 'org/gated' });
  t.match(gated.peers, [{ accountNumber: number }], "of the account's own copies");
  mine!.drop();
  foreign!.drop();
  const gone = await waitFor('the end of its session', async () => {
    const answer = await settle(needs, { endpointId, repository: 'org/gated' });
    return answer.peers.length === 0 && answer;
  });
  t.equal(gone.commit, commit('a'), 'the commit stays');
  const tables = await core.sql<{ row: string }[]>`SELECT m::text AS row FROM machine m`;
  t.notOk(tables.some(({ row }) => row.includes(found.peers[0]!.token)));
  await remove(endpointId);
  for (const agent of [needs, near, far, elsewhere]) agent!.drop();
});
