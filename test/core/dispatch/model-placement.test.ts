// test: postgres, 10 s
/** Cached models and workers: where they are placed, and what is said while a machine downloads and when it cannot. */

import { CachedModelState, ModelFault, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { cached, GB, modelCalls, models } from './model-fleet.ts';

t.setTimeout(120_000);
const core = await startReplicas(t);
const { clients, key, rootKey } = core;
const { ordered, remove, explain } = modelCalls(core);

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
  /** Waits until it is said, with all machines that there are: the first look may be older than the last machine. */
  const cannotRun = (endpointId: string, text: RegExp) =>
    waitFor(`${endpointId} cannot run: ${text}`, async () => {
      const { problems } = await call(clients.problems, 'listProblems', { limit: 20, endpointId }, key);
      return problems.some((problem) => problem.kind === 'CANNOT_RUN' && text.test(problem.text));
    });
  const refused = await core.createEndpoint({ locations: ['cellar'], modelReferences: ['org/m'] });
  await cannotRun(refused, /needs .* and space for its models.*: .*takes no models/);
  const explained = await explain(refused, rootKey);
  t.match(
    explained.machines.find(({ name }) => name === none.machineId),
    { fits: false, refusedBy: 'NO_MODELS', reason: /--model-disk/, change: /--model-disk/ },
  );
  t.match(explained.models, [{ reference: 'org/m', ready: 0, failed: 0, reason: /^on no machine/, change: '' }]);
  const large = await core.createEndpoint({ locations: ['attic'], modelReferences: ['org/huge'] });
  await cannotRun(large, /has too little disk for its models/);
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
  // A busy machine may seem away for a moment, and then that is the reason.
  await waitFor('the machine, for the operator', async () =>
    (await explain(endpointId, rootKey)).workers[0]?.reason.includes(`${text} on ${agent.machineId}`),
  );

  const error = 'the hub answers 403: this repository is gated';
  agent.send({
    models: models(
      cached('org/m', { revision, state: CachedModelState.FAILED, fault: ModelFault.FORBIDDEN, error, commit: '' }),
    ),
  });
  const failed = await waitFor('the failure', async () => {
    // A second after its crash a worker is replaced by one that starts: each of them crashes.
    const workers = ordered(agent, endpointId).map((worker) => ({ workerId: worker.workerId, endpointId }));
    agent.send({ workers: workers.map((worker) => ({ ...worker, reason: error, state: WorkerState.UNHEALTHY })) });
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
  const seen = (await problems(rootKey)).find(({ kind }) => kind === 'MODEL_FAILED');
  t.match(seen?.text, `on ${agent.machineId}`, 'the operator sees where');
  agent.send({ models: models(cached('org/m', { revision })) });
  await waitFor('its end', async () => (await problems(key)).every(({ kind }) => kind !== 'MODEL_FAILED'));
  t.match((await explain(endpointId)).models, [{ ready: 1, reason: 'ready on one machine', change: '' }]);
  await remove(endpointId);
  agent.drop();
});
