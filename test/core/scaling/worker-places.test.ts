// test: postgres, 10 s
/** Workers and capacity: placement, replacement, and the end of an endpoint. */

import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

const silent = { onAssignment: () => undefined };
const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const idsOf = (agent: { desired: { workerId: string }[] }): string[] => agent.desired.map((worker) => worker.workerId);
const emptyTemplate = {
  id: '',
  name: '',
  imageName: '',
  startCommand: [],
  entrypoint: [],
  env: {},
  workingDirectory: '',
  containerDiskGb: 0,
  volumeGb: 0,
  volumeMountPath: '',
  ports: [],
  registryAuthId: '',
  serverless: true,
  public: false,
  readme: '',
  category: '',
  exampleInput: '',
  createTime: undefined,
};

t.test('a change of what workers run replaces them; a change of numbers does not', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const templateId = await core.createTemplate({ env: { A: '1' } });
  const endpointId = await core.createEndpoint({ templateId, env: { B: '2' } });
  await core.ready(endpointId);
  const [first] = agent.desired;
  t.match(first!.spec, {
    env: { A: '1', B: '2' },
    startCommand: ['true'],
    version: 0,
    concurrency: 1,
    initTimeoutSeconds: 420,
  });
  await core.updateEndpoint(endpointId, { idleTimeoutSeconds: 30, name: 'other' });
  const { endpoint } = await core.updateEndpoint(endpointId, { env: { B: '3' } });
  t.equal(endpoint!.version, 1, 'one of two changes counts');
  const replaced = await waitFor('the replacement', () =>
    agent.desired.find((worker) => worker.workerId !== first!.workerId),
  );
  t.match(replaced.spec, { env: { A: '1', B: '3' }, version: 1 });
  await call(
    core.clients.templates,
    'updateTemplate',
    { template: { ...emptyTemplate, id: templateId, env: { A: '9' } }, updateMask: ['env'] },
    core.key,
  );
  const third = await waitFor('the next', () => agent.desired.find((worker) => worker.spec?.version === 2));
  t.match(third.spec, { env: { A: '9', B: '3' } });
});

t.test('no capacity: throttled, with the reason; capacity: placed', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent();
  const endpointId = await core.createEndpoint({ gpuIds: ['AMPERE_24'], workersMin: 2 });
  const decision = await waitFor('the decision', async () => {
    const [row] = await core.sql`SELECT * FROM scale_decision WHERE endpoint_id = ${endpointId}`;
    return row;
  });
  t.match(decision, {
    target: 2,
    throttled: 2,
    refusal: /no machine has .*1 machine has no GPU/,
    refusal_by_machine: /it has no GPU/,
  });
  const health = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
  t.equal(health.workers!.throttled, 2);
  const agent = await core.joinAgent({ gpus: [L4] });
  await core.ready(endpointId, 1);
  t.match(agent.desired, [{ spec: { gpuUuids: ['GPU-1'], gpuTypeId: 'NVIDIA L4' } }]);
  const [now] = await core.sql`SELECT * FROM scale_decision WHERE endpoint_id = ${endpointId}`;
  t.match(now, {
    target: 2,
    throttled: 1,
    refusal: /1 machine has too few of them free/,
    refusal_by_machine: /0 of the GPUs asked for are free/,
  });
});

t.test('two endpoints never get the same GPU', async (t) => {
  const core = await startReplicas(t, 2);
  const agent = await core.joinAgent({ gpus: [L4, { ...L4, uuid: 'GPU-2' }] });
  await Promise.all(Array.from({ length: 4 }, () => core.createEndpoint({ gpuIds: ['NVIDIA L4'] })));
  await waitFor('both to be used', () => agent.desired.length === 2);
  await waitFor('every endpoint to be decided', async () => (await core.sql`SELECT FROM scale_decision`).length === 4);
  t.same(agent.desired.flatMap((worker) => worker.spec!.gpuUuids).sort(), ['GPU-1', 'GPU-2']);
});

t.test('a worker that asks to be replaced gets no more jobs and a successor', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const [first] = idsOf(agent);
  agent.send({ workers: [{ workerId: first!, endpointId, state: WorkerState.READY, capacity: 1, refresh: true }] });
  await waitFor('the successor', () => agent.desired.length === 1 && idsOf(agent)[0] !== first);
  await core.submit(endpointId);
  await waitFor('the job', () => agent.assignments.length === 1);
  t.not(agent.assignments[0]!.ref!.workerId, first);
});

t.test('deletion needs zero workers, and removes jobs and workers', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  await waitFor('it to run', () => agent.assignments.length === 1);
  const remove = () => call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.key);
  t.match(
    await reasonOf(remove()),
    /^WORKERS_NOT_ZERO: workers_min and workers_max must both be 0 .* first call UpdateEndpoint/,
  );
  await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  await remove();
  await waitFor('the worker to go', () => agent.desired.length === 0);
  t.match(await reasonOf(core.get(endpointId, id)), /^ENDPOINT_NOT_FOUND/);
  t.equal((await core.sql`SELECT FROM job`).length, 0);
});
