// test: postgres, 10 s
/**
 * Every field of a body besides its name (docs/reference/management.md#endpoints): the default, which changes replace
 * workers, that what was sent can be sent again; and the example body of the public documents on a machine without a
 * GPU. On a real system.
 */
import t from 'tap';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

type Json = Record<string, unknown>;

t.setTimeout(600_000);
// No virtual GPU: this is the machine of `npm start` on a laptop.
const system = await startSystem(t, { agentEnv: { SLIPWAY_AGENT_LOCATIONS: 'RO,EU-RO-1' } });
const rest = async <Answer = Json & { id: string }>(method: string, path: string, body?: object): Promise<Answer> => {
  const { status, json, text } = await system.request(method, `/v1/${path}`, body);
  if (status !== 200 && status !== 201) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json as Answer;
};
const { id: templateId } = await rest('POST', 'templates', {
  name: 'handler',
  imageName: '',
  dockerStartCmd: jsHandler('all.js'),
  isServerless: true,
});

interface Described {
  properties: Record<string, { default?: unknown }>;
}
const { components } = await rest<{ components: { schemas: Record<string, Described> } }>('GET', 'openapi.json');

/** Defaults that the document gives for a body. */
function declared(name: string): Json {
  const members = Object.entries(components.schemas[name]!.properties);
  return Object.fromEntries(
    members.filter(([, member]) => 'default' in member).map(([field, member]) => [field, member.default]),
  );
}

t.test('defaults in the document equal those in responses', async (t) => {
  const pod = { computeType: 'CPU', imageName: '', dockerStartCmd: ['sleep', '600'] };
  const made: [name: string, declared: number, record: Json][] = [
    ['Endpoint', 22, await rest('POST', 'endpoints', { templateId })],
    ['Template', 9, await rest('POST', 'templates', { name: 'declared', imageName: 'i' })],
    // Its compute type is given here, and what says where it shall run is nowhere shown.
    ['Pod', 12, await rest('POST', 'pods', pod)],
  ];
  for (const [name, count, record] of made) {
    const defaults = Object.entries(declared(`${name}CreateInput`));
    t.equal(defaults.length, count, name);
    for (const [field, value] of defaults.filter(([field]) => field in record))
      t.same(record[field], value, `${name} ${field}`);
    t.same(declared(`${name}UpdateInput`), {}, 'a change has none');
  }
});

t.test('a client that sends every documented default changes nothing', async (t) => {
  const defaults = declared('EndpointCreateInput');
  for (const named of [{}, { type: 'LB' }, { computeType: 'CPU' }]) {
    const body = { templateId, workersMax: 0, ...named };
    const [filled, left] = [
      await rest('POST', 'endpoints', { ...defaults, ...body }),
      await rest('POST', 'endpoints', body),
    ];
    t.same({ ...filled, id: left.id, createdAt: left['createdAt'] }, left, JSON.stringify(named));
  }
  for (const name of Object.keys(components.schemas)) {
    const objects = Object.entries(declared(name)).filter(
      ([, value]) => value && typeof value === 'object' && !Array.isArray(value),
    );
    t.same(objects, [], `${name}: openapi-python-client makes nothing of a body with an object for a default`);
  }
});

t.test('defaults of a creation', async (t) => {
  t.match(await rest('POST', 'endpoints', { templateId }), {
    name: 'handler',
    computeType: 'GPU',
    gpuTypeIds: [],
    gpuCount: 1,
    instanceIds: [],
    idleTimeout: 5,
    scalerType: 'QUEUE_DELAY',
    scalerValue: 4,
    workerConcurrency: 1,
    workersMin: 0,
    workersMax: 3,
    executionTimeoutMs: 600_000,
    allowedCudaVersions: [],
    dataCenterIds: [],
    modelAliases: [],
    modelWeight: 1,
    modelQueueMax: 0,
    modelReferences: [],
    networkVolumeIds: [],
    env: {},
    flashboot: false,
    retryLimit: 2,
    retryHandlerErrors: false,
    durableBeforeRun: false,
    workersStandby: 0,
    version: 0,
    type: 'QB',
  });
  const cpu = { templateId, computeType: 'CPU', workersMax: 0 };
  t.match(await rest('POST', 'endpoints', cpu), { computeType: 'CPU', gpuCount: 0, instanceIds: [] });
  const sizes: [body: object, instanceIds: string[]][] = [
    [{ cpuFlavorIds: ['cpu5g', 'cpu3c'] }, ['cpu5g-2-8', 'cpu3c-2-4']],
    [{ vcpuCount: 4 }, ['cpu3c-4-8']],
    [{ cpuFlavorIds: ['cpu3g'], vcpuCount: 16 }, ['cpu3g-16-64']],
    [{ cpuFlavorIds: [] }, []],
    [{ instanceIds: ['cpu5c-3-7'], vcpuCount: 8 }, ['cpu5c-3-7']],
    [{ gpuCount: 1 }, []],
  ];
  for (const [body, instanceIds] of sizes)
    t.match(await rest('POST', 'endpoints', { ...cpu, ...body }), { instanceIds, gpuCount: 0 }, JSON.stringify(body));
  t.match(await rest('POST', 'templates', { name: 'plain', imageName: 'i' }), {
    category: 'NVIDIA',
    containerDiskInGb: 50,
    volumeInGb: 20,
    volumeMountPath: '/workspace',
    dockerEntrypoint: [],
    dockerStartCmd: [],
    env: {},
    ports: ['8888/http', '22/tcp'],
    isPublic: false,
    isServerless: false,
    readme: '',
  });
  const pod = await rest('POST', 'pods', { computeType: 'CPU', imageName: '', dockerStartCmd: ['sleep', '600'] });
  t.match(pod, {
    name: 'my pod',
    containerDiskInGb: 50,
    volumeInGb: 20,
    volumeMountPath: '/workspace',
    dockerEntrypoint: [],
    env: {},
    ports: ['8888/http', '22/tcp'],
    interruptible: false,
    locked: false,
  });
  const { json } = await system.request('POST', '/v1/pods', { dockerStartCmd: ['true'] });
  t.match(json, { code: 'no_capacity', message: /No machine has a free GPU: 1 machine has no GPU/ }, 'GPU, and one');
});

t.test('an update of an endpoint replaces the fields it names', async (t) => {
  const { id } = await rest('POST', 'endpoints', { templateId, gpuTypeIds: ['NVIDIA L4'], workersMax: 0 });
  const { id: cpuId } = await rest('POST', 'endpoints', {
    templateId,
    computeType: 'CPU',
    cpuFlavorIds: ['cpu3g'],
    vcpuCount: 2,
    workersMax: 0,
  });
  const { id: volume } = await rest('POST', 'networkvolumes', { name: 'v', size: 1, dataCenterId: 'EU-RO-1' });
  const { id: other } = await rest('POST', 'templates', { name: 'other', imageName: 'i', isServerless: true });
  const inPlace = [
    { executionTimeoutMs: 60_000 },
    { flashboot: true },
    { idleTimeout: 9 },
    { name: 'renamed' },
    { scalerType: 'REQUEST_COUNT' },
    { scalerValue: 1 },
    { workersMax: 2 },
    { workersMin: 0 },
    {},
    { vcpuCount: 4 },
    { computeType: 'GPU' },
    { modelAliases: ['gpt-4o'], modelWeight: 0, modelQueueMax: 5 },
    { exampleInput: '{"prompt":"a"}' },
    { durableBeforeRun: true },
  ];
  for (const body of inPlace)
    t.match(await rest('PATCH', `endpoints/${id}`, body), { version: 0 }, `in place: ${JSON.stringify(body)}`);
  const rolling = [
    { modelReferences: ['org/m'] },
    { allowedCudaVersions: ['12.8'] },
    { minCudaVersion: '12.0' },
    { dataCenterIds: ['EU-RO-1'] },
    { env: { A: '1' } },
    { gpuCount: 2 },
    { gpuTypeIds: ['NVIDIA A40'] },
    { networkVolumeId: volume },
    { networkVolumeIds: [] },
    { templateId: other },
    { workerConcurrency: 8 },
  ];
  for (const [i, body] of rolling.entries())
    t.match(await rest('PATCH', `endpoints/${id}`, body), { version: i + 1 }, `rolling: ${JSON.stringify(body)}`);
  const sizes: [body: object, instanceIds: string[]][] = [
    [{ vcpuCount: 8 }, ['cpu3g-8-32']],
    [{ cpuFlavorIds: ['cpu5c', 'cpu3c'] }, ['cpu5c-8-16', 'cpu3c-8-16']],
    [{ instanceIds: [] }, []],
  ];
  for (const [i, [body, instanceIds]] of sizes.entries()) {
    t.match(
      await rest('PATCH', `endpoints/${cpuId}`, body),
      { version: i + 1, instanceIds },
      `rolling: ${JSON.stringify(body)}`,
    );
  }
});

t.test('an update of a template replaces the fields it names', async (t) => {
  const { id: of } = await rest('POST', 'templates', { name: 'changing', imageName: 'i', isServerless: true });
  const { id } = await rest('POST', 'endpoints', { templateId: of, workersMax: 0 });
  const { id: auth } = await rest('POST', 'containerregistryauth', { name: 'a', username: 'u', password: 'p' });
  const version = async (): Promise<unknown> => (await rest('GET', `endpoints/${id}`))['version'];
  for (const body of [
    { isPublic: true },
    { name: 'changed' },
    { readme: 'x' },
    { volumeInGb: 3 },
    { volumeMountPath: '/v' },
  ]) {
    await rest('PATCH', `templates/${of}`, body);
    t.equal(await version(), 0, `in place: ${JSON.stringify(body)}`);
  }
  const rolling = [
    { imageName: 'j' },
    { dockerStartCmd: ['true'] },
    { dockerEntrypoint: ['sh'] },
    { env: { A: '1' } },
    { containerDiskInGb: 9 },
    { ports: ['80/http'] },
    { containerRegistryAuthId: auth },
  ];
  for (const [i, body] of rolling.entries()) {
    await rest('PATCH', `templates/${of}`, body);
    t.equal(await version(), i + 1, `rolling: ${JSON.stringify(body)}`);
  }
});

t.test('a request body and its answer can both be sent again', async (t) => {
  const bodies = [
    { templateId, workersMax: 0 },
    { templateId, workersMax: 0, gpuCount: 2, gpuTypeIds: ['NVIDIA L4'], vcpuCount: 2 },
    { templateId, workersMax: 0, computeType: 'CPU', cpuFlavorIds: ['cpu3c', 'cpu5g'], vcpuCount: 4, gpuCount: 1 },
    { templateId, workersMax: 0, computeType: 'CPU', vcpuCount: 1 },
    { templateId, workersMax: 0, computeType: 'CPU', cpuFlavorIds: ['cpu3g'] },
    { templateId, workersMax: 0, computeType: 'CPU', instanceIds: ['cpu3c-1-2', 'cpu5c-4-8'] },
  ];
  for (const body of bodies) {
    const made = await rest('POST', 'endpoints', body);
    const path = `endpoints/${made.id}`;
    t.same(await rest('GET', path), made, JSON.stringify(body));
    t.same(await rest('PATCH', path, body), made, 'the body again');
    t.same(await rest('PATCH', path, made), made, 'the answer as a body');
  }
});

t.test('the documented example body works on a fleet without a GPU', async (t) => {
  const body = { name: 'first', templateId, workersMin: 1, workersMax: 1, idleTimeout: 60 };
  const { id } = await rest('POST', 'endpoints', body);
  const answer = await system.request('POST', `/v2/${id}/runsync`, { input: { mode: 'value', value: 7 } });
  t.match(answer.json, { status: 'COMPLETED', output: 7 }, 'without gpuTypeIds it does its job');
  const { id: choosy } = await rest('POST', 'endpoints', { ...body, gpuTypeIds: ['NVIDIA L4'] });
  t.match(
    (await system.request('POST', `/v2/${choosy}/run`, { input: {} })).json,
    { status: 'IN_QUEUE' },
    'with them its jobs wait for such a GPU',
  );
});

t.test('a template for pods is rejected, with what to do', async (t) => {
  const { id: ofPods } = await rest('POST', 'templates', { name: 'of pods', imageName: 'i' });
  const message =
    `templateId: "${ofPods}" is a template for pods, and that is fixed; endpoints run serverless ones: make one by ` +
    'POST /v1/templates with isServerless true and name that';
  t.match((await system.request('POST', '/v1/endpoints', { templateId: ofPods })).json, {
    status: 400,
    code: 'invalid_request',
    message,
  });
});

t.test('an unknown enum value is rejected with the allowed ones', async (t) => {
  const refusal = async (method: string, path: string, body?: object) =>
    (await system.request(method, `/v1/${path}`, body)).json['message'];
  t.equal(
    await refusal('POST', 'endpoints', { templateId, scalerType: 'FOO' }),
    'body/scalerType must be one of QUEUE_DELAY, REQUEST_COUNT, SLO',
  );
  t.equal(
    await refusal('GET', 'billing/endpoints?bucketSize=decade'),
    'querystring/bucketSize must be one of hour, day, week, month, year',
  );
});
