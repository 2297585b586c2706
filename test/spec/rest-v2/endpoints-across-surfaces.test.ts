// test: postgres
/**
 * Endpoints that REST v2, REST v1 or GraphQL makes are read and changed by the others, and so is what templates and
 * pods ask of their machine. REST v2 tells what endpoints and pods cost.
 */
import postgres from 'postgres';
import t from 'tap';
import { startSystem } from '../../helpers/system/system.ts';
import type { Json } from './surfaces.ts';
import { surfacesOf } from './surfaces.ts';

t.setTimeout(600_000);

const system = await startSystem(t, { agents: 1, agentEnv: { SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1,RO' } });
const { request } = system;
const { v1, v2, graphql } = surfacesOf(system);

t.test('an endpoint made from an image owns its template, which is deleted with it', async (t) => {
  const made = await v2('POST', '/serverless', {
    name: 'direct',
    type: 'QUEUE',
    image: 'a/b:1',
    env: { A: '1', B: '2' },
    gpu: { pools: ['AMPERE_24'], excludedTypes: ['NVIDIA L4'] },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 0.5 },
    flashboot: 'PRIORITY_FLASHBOOT',
    timeout: 0,
    workers: { max: 0 },
  });
  t.match(made, {
    type: 'QUEUE',
    scaling: { queueDelay: 0.5 },
    flashboot: 'PRIORITY_FLASHBOOT',
    timeout: 0,
    workers: { min: 0, max: 0, idleTimeout: 10 },
    gpu: { pools: ['AMPERE_24'], excludedTypes: ['NVIDIA L4'], count: 1, minCudaVersion: null },
    requestUrls: { run: `${system.url}/v2/${made.id}/run` },
  });
  const seen = await v1('GET', `/endpoints/${made.id}?includeTemplate=true`);
  t.match(seen, {
    scalerValue: 1,
    flashboot: true,
    executionTimeoutMs: 600_000,
    gpuTypeIds: ['AMPERE_24', '-NVIDIA L4'],
    env: {},
    template: { imageName: 'a/b:1', env: { A: '1', B: '2' } },
  });
  const listed = async (query = '') =>
    ((await v1('GET', `/templates${query}`)) as unknown as { id: string }[]).some(({ id }) => id === seen.templateId);
  t.notOk(await listed(), 'it is in no list');
  t.ok(await listed('?includeEndpointBoundTemplates=true'), 'unless that asks for it');
  t.notOk(
    ((await v2('GET', '/templates')) as unknown as { templates: { id: string }[] }).templates.some(
      ({ id }) => id === seen.templateId,
    ),
  );
  t.equal(
    (await request('POST', '/v1/endpoints', { templateId: seen.templateId })).status,
    400,
    'no other endpoint may run it',
  );
  const changed = await v2('PATCH', `/serverless/${made.id}`, { image: 'a/b:2', env: { C: '3' }, name: 'renamed' });
  t.match(changed, { image: 'a/b:2', env: { C: '3' }, name: 'renamed', scaling: { queueDelay: 0.5 } });
  t.same(Object.keys(changed.env), ['C'], 'env is replaced');
  const after = await v1('GET', `/endpoints/${made.id}?includeTemplate=true`);
  t.match(after, { templateId: seen.templateId, version: 1, template: { name: /^renamed / } });
  await v1('PATCH', `/endpoints/${made.id}`, { scalerValue: 3, executionTimeoutMs: 10_000, flashboot: true });
  t.match(await v2('GET', `/serverless/${made.id}`), {
    scaling: { queueDelay: 3 },
    timeout: 10_000,
    flashboot: 'PRIORITY_FLASHBOOT',
  });
  await v2('PATCH', `/serverless/${made.id}`, { workers: { max: 2 } });
  t.match(
    await v2('GET', `/serverless/${made.id}`),
    { workers: { min: 0, max: 2, idleTimeout: 10 } },
    'one member of workers is changed',
  );
  await v2('DELETE', `/serverless/${made.id}`);
  t.equal((await request('GET', `/v1/templates/${seen.templateId}`)).status, 404, 'its template went with it');
});

t.test('an endpoint made from a template copies it once, and v1 links it to another', async (t) => {
  const template = await v2('POST', '/templates', {
    name: 'source',
    image: 'a/b:1',
    env: { A: '1', B: '2' },
    serverless: true,
    disk: 9,
  });
  const made = await v2('POST', '/serverless', {
    name: 'copy',
    type: 'LOAD_BALANCER',
    templateId: template.id,
    env: { B: '3' },
    cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
    scaling: { type: 'REQUEST_COUNT', requestCount: 4 },
    workers: { max: 0 },
  });
  t.match(made, {
    image: 'a/b:1',
    disk: 9,
    env: { A: '1', B: '3' },
    cpu: [{ id: 'cpu3c', vcpuCount: 2, memory: 4 }],
    requestUrls: { base: /\/v2\// },
  });
  await v2('PATCH', `/templates/${template.id}`, { image: 'a/b:2' });
  t.match(await v2('GET', `/serverless/${made.id}`), { image: 'a/b:1' }, 'no link stays');
  const own = (await v1('GET', `/endpoints/${made.id}`)).templateId;
  t.not(own, template.id);
  await v1('PATCH', `/endpoints/${made.id}`, { templateId: template.id });
  t.match(await v2('GET', `/serverless/${made.id}`), { image: 'a/b:2' });
  t.equal((await request('GET', `/v1/templates/${own}`)).status, 404, 'its own went');
  await v2('PATCH', `/serverless/${made.id}`, { disk: 11 });
  t.match(
    await v1('GET', `/templates/${template.id}`),
    { containerDiskInGb: 9 },
    'a shared template is never changed by one endpoint',
  );
  t.match(await v2('GET', `/serverless/${made.id}`), { disk: 11, image: 'a/b:2', env: { A: '1', B: '2' } });
  await v2(
    'POST',
    '/serverless',
    { name: 'x', type: 'QUEUE', templateId: 'nothing', gpu: {}, scaling: { type: 'QUEUE_DELAY', queueDelay: 4 } },
    404,
  );
  const pods = await v2('POST', '/templates', { name: 'of pods', image: 'a/b:1' });
  await v2(
    'POST',
    '/serverless',
    { name: 'x', type: 'QUEUE', templateId: pods.id, gpu: {}, scaling: { type: 'QUEUE_DELAY', queueDelay: 4 } },
    422,
  );
  await graphql(
    `mutation { saveEndpoint(input: { id: "${made.id}", name: "by graphql", workersMax: 0, workersMin: 0 }) { id } }`,
  );
  t.match(await v2('GET', `/serverless/${made.id}`), { name: 'by graphql' });
  await graphql(`mutation { deleteEndpoint(id: "${made.id}") }`);
  await v2('GET', `/serverless/${made.id}`, undefined, 404);
});

t.test('settings of an endpoint at the OpenAI address', async (t) => {
  const body = {
    name: 'chat',
    type: 'QUEUE',
    image: 'a/b:1',
    cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
    scaling: { type: 'REQUEST_COUNT', requestCount: 1 },
    workers: { max: 0 },
  };
  const made = await v2('POST', '/serverless', { ...body, openai: { aliases: ['org/chat'], weight: 5 } });
  t.match(made, { openai: { aliases: ['org/chat'], weight: 5, queueMax: 0 } });
  const path = `/serverless/${made.id}`;
  t.match(await v2('PATCH', path, { openai: { queueMax: 9 } }), {
    openai: { aliases: ['org/chat'], weight: 5, queueMax: 9 },
  });
  const plain = { modelAliases: ['org/chat'], modelWeight: 5, modelQueueMax: 9 };
  t.match(await v1('GET', `/endpoints/${made.id}`), plain);
  await v1('PATCH', `/endpoints/${made.id}`, { modelAliases: [], modelWeight: 7 });
  t.match(await v2('GET', path), { openai: { aliases: [], weight: 7, queueMax: 9 } });
  await v2('PATCH', path, { openai: { aliases: ['no space'] } }, 422);
  await v2('PATCH', path, { openai: { weight: -1 } }, 422);
  await v2('DELETE', path);
});

t.test('models are set and read on each surface', async (t) => {
  const made = await v2('POST', '/serverless', {
    name: 'models',
    type: 'QUEUE',
    image: 'a/b:1',
    gpu: { pools: ['AMPERE_24'] },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    workers: { max: 0 },
    model: 'https://huggingface.co/org/big',
  });
  const at = `/serverless/${made.id}`;
  const graphqlModels = async () =>
    ((await graphql(`{ endpoint(id: "${made.id}") { modelReferences version } }`)) as unknown as { endpoint: object })
      .endpoint;
  t.match(made, { model: 'org/big', models: ['org/big'] });
  t.match(await v1('GET', `/endpoints/${made.id}`), { modelReferences: ['org/big'], version: 0 });
  t.same(await graphqlModels(), { modelReferences: ['org/big'], version: 0 });
  await v1('PATCH', `/endpoints/${made.id}`, { modelReferences: ['org/a@v1', 'org/b'] });
  t.match(await v2('GET', at), { model: 'org/a:v1', models: ['org/a:v1', 'org/b'] });
  await graphql(
    `mutation { saveEndpoint(input: { id: "${made.id}", name: "models", modelReferences: ["org/c:main"] }) { id } }`,
  );
  t.match(await v2('GET', at), { model: 'org/c', models: ['org/c'] });
  t.match(await v2('PATCH', at, { models: ['org/d', 'org/e'] }), { models: ['org/d', 'org/e'] });
  const before = await v2('GET', at);
  for (const [wrong, status] of [
    [{ model: 'org/x', models: [] }, 400],
    [{ model: 'gpt2' }, 422],
    [{ model: 'a/../b' }, 400],
    [{ model: 'https://x.example/a/b' }, 400],
    [{ model: 'a/b:..' }, 400],
    [{ models: ['a/b', 'https://hf.co/a/b'] }, 400],
    [{ models: null }, 422],
    [{ models: Array.from({ length: 11 }, (_, i) => `a/m${i}`) }, 422],
    [{ model: `a/${'b'.repeat(600)}` }, 422],
  ] as const)
    t.equal((await request('PATCH', `/v2${at}`, wrong)).status, status, JSON.stringify(wrong).slice(0, 80));
  t.same(await v2('GET', at), before, 'which changed nothing');
  t.match(await v2('PATCH', at, { model: null }), { model: null, models: [] });
  t.same(await graphqlModels(), { modelReferences: [], version: 4 }, 'each change made a version');
  await v2('DELETE', at);
});

t.test('rules between members of an endpoint', async (t) => {
  const base = {
    name: 'x',
    type: 'QUEUE',
    image: 'a/b:1',
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    gpu: { pools: ['ADA_24'] },
    workers: { max: 0 },
  };
  const fault = async (wanted: number, change: object, detail: RegExp) => {
    const { status, json } = await request('POST', '/v2/serverless', { ...base, ...change });
    t.equal(status, wanted, JSON.stringify(json));
    t.match(json, { detail });
  };
  await fault(400, { cpu: [{ id: 'cpu3c', vcpuCount: 2 }] }, /exactly one of gpu and cpu/);
  await fault(400, { gpu: { pools: ['ADA_24'], excludedTypes: ['NVIDIA L4'] } }, /none of gpu\.pools/);
  await fault(422, { gpu: { excludedTypes: ['NVIDIA L4'] } }, /excludedTypes/);
  await fault(400, { gpu: { pools: ['ADA_24'], minCudaVersion: '12.0', allowedCudaVersions: ['12.1'] } }, /give one/);
  await fault(422, { scaling: { type: 'REQUEST_COUNT', requestCount: 1 }, workers: { idleTimeout: 5 } }, /idleTimeout/);
  await fault(
    422,
    { workers: { max: -1, min: 'x' } },
    /\$\.workers\.min: .*; \$\.workers\.max: |\$\.workers\.max: .*; \$\.workers\.min: /,
  );
  await fault(422, { scaling: { type: 'NEVER' } }, /\$\.scaling\.type: must be one of QUEUE_DELAY, REQUEST_COUNT, SLO/);
  await fault(422, { image: null }, /\$\.image: must be string/);
  await fault(400, { workers: { min: 3, max: 2 } }, /workers\.min is 3, but must not exceed workers\.max/);
  await fault(400, { type: 'LOAD_BALANCER' }, /scaling\.type is QUEUE_DELAY/);
  await fault(400, { timeout: 3 }, /timeout is 3/);
  const made = await v2('POST', '/serverless', {
    ...base,
    gpu: { pools: ['AMPERE_24'], excludedTypes: ['NVIDIA L4'], minCudaVersion: '12.8' },
  });
  t.match(made, { gpu: { minCudaVersion: '12.8', allowedCudaVersions: [] } });
  t.match(await v2('PATCH', `/serverless/${made.id}`, { gpu: { count: 2 } }), {
    gpu: { count: 2, excludedTypes: ['NVIDIA L4'], minCudaVersion: '12.8' },
  });
  t.same(
    (await v2('PATCH', `/serverless/${made.id}`, { gpu: { pools: ['AMPERE_24'], minCudaVersion: '' } })).gpu,
    {
      pools: ['AMPERE_24'],
      excludedTypes: [],
      count: 2,
      allowedCudaVersions: [],
      minCudaVersion: null,
    },
    'pools alone clear what was left out',
  );
  t.same(
    await v2('PATCH', `/serverless/${made.id}`, {}),
    await v2('GET', `/serverless/${made.id}`),
    '{} changes nothing',
  );
  const typed = await v1('POST', '/endpoints', {
    templateId: (await v2('POST', '/templates', { name: 'k', image: 'a/b:1', serverless: true })).id,
    gpuTypeIds: ['NVIDIA L4', 'Tesla T4'],
    workersMax: 0,
  });
  t.match(
    await v2('GET', `/serverless/${typed.id}`),
    {
      gpu: { pools: ['AMPERE_24', 'Tesla T4'], excludedTypes: ['NVIDIA RTX A5000', 'NVIDIA GeForce RTX 3090'] },
    },
    'types are shown as the smallest pools that hold them',
  );
  const key = { 'idempotency-key': 'once-1' };
  const first = await request('POST', '/v2/serverless', base, key);
  const second = await request('POST', '/v2/serverless', base, key);
  t.same([second.status, second.json.id], [201, first.json.id], 'a creation with the same key is one');
});

t.test('what a machine must have, on each surface', async (t) => {
  const size = /on a machine with at least 6 processors and 64 GB of memory: 1 machine has no /;
  const pod = { name: 'large', image: 'a/b:1' };
  const gpu = { id: 'NVIDIA L4', count: 2, minRamPerGpu: 32, minVcpuCountPerGpu: 3 };
  t.match(await v2('POST', '/pods', { ...pod, gpu }, 400), { detail: size });
  const { json } = await request('POST', '/v1/pods', {
    imageName: 'a/b:1',
    gpuTypeIds: ['NVIDIA L4'],
    gpuCount: 2,
    minRAMPerGPU: 32,
    minVCPUPerGPU: 3,
  });
  t.match(json, { error: size });
  const input = '{ imageName: "a/b:1", gpuTypeId: "NVIDIA L4", gpuCount: 2, minMemoryInGb: 64, minVcpuCount: 6 }';
  const query = `mutation { podFindAndDeployOnDemand(input: ${input}) { id } }`;
  t.match((await request('POST', '/graphql', { query })).json, { errors: [{ message: size }] });
});

t.test('SSH and Jupyter of templates, on each surface', async (t) => {
  const made = await v2('POST', '/templates', { name: 'started', image: 'a/b:1', startSsh: false });
  t.match(made, { startSsh: false, startJupyter: true });
  const asked = (id: unknown) => graphql(`{ podTemplate(id: "${String(id)}") { startSsh startJupyter } }`);
  t.same(await asked(made.id), { podTemplate: { startSsh: false, startJupyter: true } });
  t.match(await v2('PATCH', `/templates/${made.id}`, { startJupyter: false }), {
    startSsh: false,
    startJupyter: false,
  });
  const input = '{ name: "g", imageName: "a/b:1", dockerArgs: "", env: [], volumeInGb: 0, containerDiskInGb: 5';
  const { saveTemplate } = await graphql(`mutation { saveTemplate(input: ${input}, startJupyter: true }) { id } }`);
  const id = (saveTemplate as Json).id;
  t.match(await v2('GET', `/templates/${id}`), { startSsh: true, startJupyter: true });
  await v1('PATCH', `/templates/${id}`, { imageName: 'a/b:2' });
  t.same(await asked(id), { podTemplate: { startSsh: true, startJupyter: true } }, 'v1 has no word for them');
});

t.test('amounts are split between GPU and CPU resources', async (t) => {
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const span = (kind: string, id: string, gpu: string, price: number) => sql`
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, gpu_type_id, usd_per_hour, started_at, ended_at)
    VALUES (${system.accountId}, ${kind}, ${id}, ${kind === 'WORKER' ? 'billed' : ''}, ${gpu}, ${price},
      '2026-01-05T10:00:00Z', '2026-01-05T12:00:00Z')`;
  await span('POD', 'with', 'NVIDIA L4', 3);
  await span('POD', 'without', '', 0.5);
  await span('WORKER', 'w1', 'NVIDIA L4', 2);
  await span('WORKER', 'w2', '', 0.25);
  const period = 'startTime=2026-01-05T00:00:00Z&endTime=2026-01-06T00:00:00Z';
  const pods = (await v2('GET', `/billing/pods?${period}`)) as unknown as { records: { podId: string }[] };
  t.match(
    pods.records.toSorted((a, b) => (a.podId < b.podId ? -1 : 1)),
    [
      { podId: 'with', totalAmount: 6, gpuAmount: 6, cpuAmount: 0 },
      { podId: 'without', totalAmount: 1, gpuAmount: 0, cpuAmount: 1 },
    ],
  );
  const both = { totalAmount: 4.5, gpuAmount: 4, cpuAmount: 0.5, diskAmount: 0, feeAmount: 0 };
  t.match(await v2('GET', `/billing/serverless?${period}`), {
    records: [{ serverlessId: 'billed', ...both }],
    metadata: { totals: both },
  });
  t.match(await v2('GET', `/billing?${period}`), {
    records: [
      { totalAmount: 11.5, podGpuAmount: 6, podCpuAmount: 1, serverlessGpuAmount: 4, serverlessCpuAmount: 0.5 },
    ],
  });
});
