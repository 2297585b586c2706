// test: postgres, 10 s
/**
 * Cached models between core and agents: start orders, the commit of a revision, machines to copy from, where workers
 * are placed, and what is said while a machine downloads and when it cannot.
 */

import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import {
  AgentServiceClient,
  MachineModels,
  SettleModelRequest,
  type SettleModelResponse,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import type { CachedModel } from '@slipway/proto/gen/slipway/v1/machine';
import { CachedModelState, ModelFault, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { checkModelPeerToken } from '@slipway/proto/wire/model-peer-token';
import { fromGrpcError } from '@slipway/proto/wire/reason';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(120_000);
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const GB = 1_000_000_000;
const commit = (digit: string): string => digit.repeat(40);
const cached = (repository: string, fields: Partial<CachedModel> = {}) => ({
  repository,
  revision: 'main',
  commit: commit('a'),
  state: CachedModelState.READY,
  sizeBytes: 2 * GB,
  downloadedBytes: 2 * GB,
  ...fields,
});
const models = (...entries: Partial<CachedModel>[]) =>
  MachineModels.fromPartial({
    models: entries,
    limitBytes: 10 * GB,
    usedBytes: 2 * GB,
    peerAddress: '10.0.0.1:8080',
  });
const stored = (agent: ScriptedAgent) =>
  core.sql`SELECT * FROM machine_model WHERE machine_id = ${agent.machineId} ORDER BY repository, revision`;
/** Workers of an endpoint that an agent was asked to start. */
const ordered = (agent: ScriptedAgent, endpointId: string) =>
  agent.desired.filter((worker) => worker.endpointId === endpointId);
const settle = async (agent: ScriptedAgent, fields: Partial<SettleModelRequest>): Promise<SettleModelResponse> => {
  const client = systemTransport.openClient(AgentServiceClient, core.replicas[0]!.address);
  const metadata = callMetadata(await core.keyOf(agent.machineId));
  const request = SettleModelRequest.fromPartial({ revision: 'main', ...fields });
  return new Promise<SettleModelResponse>((resolve, reject) => {
    client.settleModel(request, metadata, (error, answer) => {
      client.close();
      if (error) reject(fromGrpcError(error));
      else resolve(answer);
    });
  });
};
const remove = async (endpointId: string) =>
  call(clients.endpoints, 'deleteEndpoint', { id: endpointId, stopWorkers: true }, key);
const explain = async (endpointId: string, as = key) =>
  (await call(clients.endpoints, 'explain', { endpointId }, as)).explanation!;

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

t.test('workers go to a machine that has the model, until its workers are many', async (t) => {
  const here = { locations: ['place'], cpuSlots: 100 };
  const roomy = await core.joinAgent({ ...here, models: models() });
  const without = await core.joinAgent(here);
  const holder = await core.joinAgent({ ...here, cpuSlots: 20, models: models(cached('org/m')) });
  const loading = await core.joinAgent({
    ...here,
    models: models(cached('org/m', { state: CachedModelState.DOWNLOADING, downloadedBytes: GB })),
  });
  const endpointId = await core.createEndpoint({ modelReferences: ['org/m'], locations: ['place'], workersMin: 3 });
  const on = (agent: ScriptedAgent) => ordered(agent, endpointId).length;
  await waitFor('three', () => on(holder) === 3);
  await core.updateEndpoint(endpointId, { workersMin: 6, workersMax: 6 });
  await waitFor('six', () => on(holder) + on(loading) + on(roomy) === 6);
  t.same([on(holder), on(loading), on(roomy), on(without)], [4, 2, 0, 0]);
  await remove(endpointId);
  for (const agent of [roomy, without, holder, loading]) agent.drop();
});

t.test('a machine without space for the models takes none, and everybody is told why', async (t) => {
  const none = await core.joinAgent({ locations: ['cellar'] });
  const small = await core.joinAgent({
    locations: ['attic'],
    models: models(cached('org/huge', { state: CachedModelState.DOWNLOADING, sizeBytes: 40 * GB })),
  });
  const plain = await core.createEndpoint({ locations: ['cellar'] });
  await waitFor('one without models', () => ordered(none, plain)[0]);
  const problemOf = (endpointId: string, kind: string, as = key) =>
    waitFor(`the problem ${kind}`, async () => {
      const { problems } = await call(clients.problems, 'listProblems', { limit: 20, endpointId }, as);
      return problems.find((problem) => problem.kind === kind);
    });
  const refused = await core.createEndpoint({ locations: ['cellar'], modelReferences: ['org/m'] });
  t.match((await problemOf(refused, 'CANNOT_RUN')).text, /needs .* and space for its models.*: .*takes no models/);
  const explained = await explain(refused, rootKey);
  t.match(
    explained.machines.find(({ name }) => name === none.machineId),
    { fits: false, refusedBy: 'NO_MODELS', reason: /--model-disk/, change: /--model-disk/ },
  );
  t.match(explained.models, [{ reference: 'org/m', ready: 0, failed: 0, reason: /^on no machine/, change: '' }]);
  const large = await core.createEndpoint({ locations: ['attic'], modelReferences: ['org/huge'] });
  t.match((await problemOf(large, 'CANNOT_RUN')).text, /has too little disk for its models/);
  t.match(
    (await explain(large, rootKey)).machines.find(({ name }) => name === small.machineId),
    { refusedBy: 'MODEL_DISK', reason: 'its models may take 10 GB (--model-disk) and 40 GB are needed' },
  );
  for (const id of [plain, refused, large]) await remove(id);
  for (const agent of [none, small]) agent.drop();
});

t.test('while a machine downloads, and when it cannot', async (t) => {
  const agent = await core.joinAgent({ locations: ['x'], startWorkers: false, models: models() });
  const endpointId = await core.createEndpoint({ locations: ['x'], modelReferences: ['org/m:v1'], workersMax: 1 });
  const { workerId } = await waitFor('the worker', () => ordered(agent, endpointId)[0]);
  await core.submit(endpointId);
  const revision = 'v1';
  const report = { workerId, endpointId, reason: 'downloading model org/m:v1' };
  agent.send({
    workers: [{ ...report, state: WorkerState.INITIALIZING }],
    models: models(cached('org/m', { revision, state: CachedModelState.DOWNLOADING, downloadedBytes: 0.86 * GB })),
  });
  const text = 'downloading model org/m:v1: 43 % of 2 GB';
  const told = await waitFor('the progress', async () => {
    const now = await explain(endpointId);
    return now.workers[0]?.reason.includes('43 %') && now;
  });
  t.equal(told.workers[0]!.reason, `it has not asked for work yet: ${text}`);
  t.match(told.summary, `Its only worker starts (it has not asked for work yet: ${text})`);
  t.match(told.models, [{ reference: 'org/m:v1', ready: 0, downloading: 1, failed: 0, reason: text, change: '' }]);
  t.match((await explain(endpointId, rootKey)).workers[0]!.reason, `${text} on ${agent.machineId}`);

  const error = 'the hub answers 403: this repository is gated';
  agent.send({
    workers: [{ ...report, reason: error, state: WorkerState.UNHEALTHY }],
    models: models(
      cached('org/m', { revision, state: CachedModelState.FAILED, fault: ModelFault.FORBIDDEN, error, commit: '' }),
    ),
  });
  const failed = await waitFor('the failure', async () => {
    const now = await explain(endpointId);
    return now.models[0]?.failed === 1 && now.workers[0]?.state === 'CRASHED' && now;
  });
  t.match(failed.workers[0], { reason: /the hub answers 403/, change: /accept the terms.*HF_TOKEN/ });
  t.match(failed.models[0], { reason: `model org/m:v1 cannot be downloaded: ${error}`, change: /HF_TOKEN/ });
  const problems = async (as: string) =>
    (await call(clients.problems, 'listProblems', { limit: 20, endpointId }, as)).problems;
  const found = await waitFor('the problem', async () => {
    const now = await problems(key);
    return now.some(({ kind }) => kind === 'MODEL_FAILED') && now;
  });
  t.match(found, [
    { kind: 'MODEL_FAILED', text: /^Model org\/m:v1 cannot .*gated\. To change that: accept the terms/ },
  ]);
  t.notOk(
    found.some(({ kind }) => kind === 'WORKERS_CRASHED'),
    'which says why the worker crashed',
  );
  t.match((await problems(rootKey))[0]!.text, `on ${agent.machineId}`);
  agent.send({ models: models(cached('org/m', { revision })) });
  await waitFor('its end', async () => (await problems(key)).every(({ kind }) => kind !== 'MODEL_FAILED'));
  t.match((await explain(endpointId)).models, [{ ready: 1, reason: 'ready on one machine', change: '' }]);
  await remove(endpointId);
  agent.drop();
});
