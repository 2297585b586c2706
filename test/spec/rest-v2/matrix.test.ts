// test: postgres, 10 s
/** One thing, three surfaces: what REST v2, REST v1 or GraphQL makes, the others read and change. */
import assert from 'node:assert/strict';
import t from 'tap';
import type { Answer, PublicJson } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';

const system = await startSystem(t, { agents: 1, agentEnv: { SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1,RO' } });
const { request } = system;

/** A test that reads a member says by that that it must be there. */
type Json = PublicJson & {
  env: object;
  templateId: string;
  gpu: object;
  pods: unknown[];
  args: string;
  cmd: string[];
  entrypoint: string[];
};
const ok = (wanted: number, { status, text, json }: Answer): Json => {
  assert.equal(status, wanted, text.slice(0, 400));
  return json as unknown as Json;
};
const v1 = async (method: string, path: string, body?: unknown) =>
  ok(method === 'DELETE' ? 204 : 200, await request(method, `/v1${path}`, body));
const v2 = async (method: string, path: string, body?: unknown, wanted = { POST: 201, DELETE: 204 }[method] ?? 200) =>
  ok(wanted, await request(method, `/v2${path}`, body));
const graphql = async (query: string): Promise<Json> => {
  const answer = ok(200, await request('POST', '/graphql', { query }));
  assert.equal(answer['errors'], undefined, JSON.stringify(answer['errors']));
  return answer['data'] as Json;
};

t.test('templates', async (t) => {
  const made = await v2('POST', '/templates', {
    name: 'of v2',
    image: 'a/b:1',
    args: 'bash -lc "a b"',
    env: { A: '1' },
    serverless: true,
    disk: 7,
    ports: ['80/http'],
  });
  t.match(made, {
    args: "bash -lc 'a b'",
    cmd: ['bash', '-lc', 'a b'],
    entrypoint: [],
    disk: 7,
    registry: null,
    mounts: {},
    serverless: true,
  });
  t.match(await v1('GET', `/templates/${made.id}`), {
    imageName: 'a/b:1',
    dockerStartCmd: ['bash', '-lc', 'a b'],
    env: { A: '1' },
    containerDiskInGb: 7,
  });
  t.same(await graphql(`{ podTemplate(id: "${made.id}") { dockerArgs } }`), {
    podTemplate: { dockerArgs: "bash -lc 'a b'" },
  });
  await v1('PATCH', `/templates/${made.id}`, { dockerEntrypoint: ['tini'], dockerStartCmd: ['python', 'x.py'] });
  const seen = await v2('GET', `/templates/${made.id}`);
  t.match(seen, {
    args: '{"entrypoint":["tini"],"cmd":["python","x.py"]}',
    entrypoint: ['tini'],
    cmd: ['python', 'x.py'],
  });
  const same = await v2('PATCH', `/templates/${made.id}`, {
    args: seen.args,
    cmd: seen.cmd,
    entrypoint: seen.entrypoint,
  });
  t.same(same, seen, 'all three as they were answered');
  await v2('PATCH', `/templates/${made.id}`, { args: 'x', cmd: ['y'] }, 400);
  t.match(await v2('PATCH', `/templates/${made.id}`, { args: '', env: {} }), {
    args: '',
    cmd: [],
    entrypoint: [],
    env: {},
  });
  const pod = await v2('POST', '/templates', {
    name: 'pod',
    image: 'a/b:1',
    mounts: { persistent: { size: 10, path: '/w' } },
  });
  t.match(
    await v1('GET', `/templates/${pod.id}`),
    { volumeInGb: 10, volumeMountPath: '/w', isServerless: false, ports: [] },
    'no default ports',
  );
  await v2('DELETE', `/templates/${pod.id}`);
});

t.test('registries: a template loses them, a pod keeps them', async (t) => {
  const { id } = await v2('POST', '/registries', { name: 'r', username: 'u', password: 'p'.repeat(16_384) });
  t.match(await v1('GET', `/containerregistryauth/${id}`), { name: 'r' });
  const template = await v2('POST', '/templates', { name: 'private', image: 'a/b:1', serverless: true, registry: id });
  const made = await v1('POST', '/endpoints', { templateId: template.id, workersMax: 0 });
  t.match(await v2('GET', `/serverless/${made.id}`), { registry: id, image: 'a/b:1' });
  t.equal((await request('DELETE', `/v1/containerregistryauth/${id}`)).status, 400, 'v1 refuses');
  await v2('DELETE', `/registries/${id}`);
  t.match(await v2('GET', `/templates/${template.id}`), { registry: null });
  t.match(await v1('GET', `/endpoints/${made.id}`), { version: 1 }, 'workers run without them');
});

t.test('an endpoint of an image: its own template lives and dies with it', async (t) => {
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

t.test('an endpoint of a template: taken apart once, and v1 makes it follow another', async (t) => {
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

t.test('network volumes', async (t) => {
  const made = await v2('POST', '/network-volumes', { name: 'v', size: 10, dataCenter: 'EU-RO-1' });
  t.same(await v1('GET', `/networkvolumes/${made.id}`), { id: made.id, name: 'v', size: 10, dataCenterId: 'EU-RO-1' });
  await v1('PATCH', `/networkvolumes/${made.id}`, { size: 12 });
  t.match(await v2('PATCH', `/network-volumes/${made.id}`, { name: 'w' }), { name: 'w', size: 12, type: 'STANDARD' });
  await v2('PATCH', `/network-volumes/${made.id}`, { size: 11 }, 400);
  await v2('PATCH', `/network-volumes/${made.id}`, {}, 422);
  const endpoint = await v2('POST', '/serverless', {
    name: 'with a volume',
    type: 'QUEUE',
    image: 'a/b:1',
    networkVolumes: [made.id],
    gpu: {},
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    workers: { max: 0 },
  });
  t.match(await v1('GET', `/endpoints/${endpoint.id}`), { networkVolumeIds: [made.id] });
  await v2('DELETE', `/network-volumes/${made.id}`, undefined, 400);
  await v2('PATCH', `/serverless/${endpoint.id}`, { networkVolumes: [] });
  await v2('DELETE', `/network-volumes/${made.id}`);
});

t.test('SSH keys', async (t) => {
  const [one, two] = ['ssh-ed25519 AAAAC3Nz me@host', 'ecdsa-sha2-nistp256 AAAAE2Vj'];
  ok(200, await request('PUT', '/v2/account/ssh-keys', { keys: [one, two] }));
  t.same(await graphql('{ myself { pubKey } }'), { myself: { pubKey: `${one}\n${two}` } });
  await graphql(`mutation { updateUserSettings(input: { pubKey: "${one}" }) { id } }`);
  t.same(await v2('GET', '/account/ssh-keys'), { keys: [one] });
  t.equal((await request('PUT', '/v2/account/ssh-keys', { keys: ['nonsense'] })).status, 422);
});

t.test('pods', async (t) => {
  const body = {
    name: 'p',
    image: '',
    args: 'sleep 1000',
    cpu: { id: 'cpu3c', vcpuCount: 2 },
    env: { A: '1' },
    ports: ['22/tcp'],
  };
  const made = await v2('POST', '/pods', body);
  t.match(made, {
    name: 'p',
    cmd: ['sleep', '1000'],
    cpu: { id: 'cpu3c', vcpuCount: 2, memory: 4 },
    mounts: {},
    ssh: { proxy: null },
    dataCenterId: 'EU-RO-1',
  });
  t.match(await v1('GET', `/pods/${made.id}`), {
    name: 'p',
    dockerStartCmd: ['sleep', '1000'],
    volumeInGb: 0,
    ports: ['22/tcp'],
  });
  t.match(await v2('POST', `/pods/${made.id}/action`, { action: 'stop' }, 200), { id: made.id });
  t.match(await v1('GET', `/pods/${made.id}`), { desiredStatus: 'EXITED' });
  const twice = await request('POST', `/v2/pods/${made.id}/action`, { action: 'stop' });
  t.equal(twice.status, 409);
  t.match(twice.json, { title: 'Conflict', detail: /start, terminate/ });
  t.equal((await request('POST', `/v2/pods/${made.id}/action`, { action: 'reset' })).status, 422);
  await v1('PATCH', `/pods/${made.id}`, { name: 'q', locked: true });
  t.match(await v2('GET', `/pods/${made.id}`), { name: 'q', locked: true, actions: ['start'] });
  await v2('PATCH', `/pods/${made.id}`, { locked: false });
  t.match(await v2('POST', `/pods/${made.id}/action`, { action: 'start' }, 200), { actions: ['stop', 'terminate'] });
  await v2('POST', `/pods/${made.id}/action`, { action: 'terminate' }, 204);
  await v2('GET', `/pods/${made.id}`, undefined, 404);
  t.same((await v2('GET', '/pods')).pods, []);
  const { status, json } = await request('POST', '/v2/pods', { name: 'p', image: 'a/b:1', gpu: { id: 'NVIDIA L4' } });
  t.same([status, json.code], [400, 'no_capacity']);
});

t.test('releases, billing, and what is not here', async (t) => {
  const made = await v2('POST', '/serverless', {
    name: 'released',
    type: 'QUEUE',
    image: 'a/b:1',
    cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    workers: { max: 0 },
  });
  await v2('PATCH', `/serverless/${made.id}`, { image: 'a/b:2', workers: { max: 0 } });
  await v1('PATCH', `/endpoints/${made.id}`, { idleTimeout: 7 });
  const first = (await v2('GET', `/serverless/${made.id}/releases?limit=2`)) as unknown as {
    endpointVersion: number;
    rollout: object;
    releases: { diff: { field: string }[] }[];
    pagination: { nextCursor: string };
  };
  t.match(first, { endpointVersion: 1, rollout: { inProgress: false, workersTotal: 0, percentOnLatest: 100 } });
  t.same(
    first.releases.map(({ diff }) => diff.map(({ field }) => field)),
    [['idleTimeout'], ['workersMax', 'template.imageName']],
  );
  const rest = await v2('GET', `/serverless/${made.id}/releases?limit=2&cursor=${first.pagination.nextCursor}`);
  t.match(rest, { releases: [{ version: 0, source: 'MANUAL' }], pagination: { hasNextPage: false } });
  t.equal((await request('GET', `/v2/templates?cursor=${first.pagination.nextCursor}`)).status, 422);
  t.match(await v2('GET', `/serverless/${made.id}/builds`), { builds: [], pagination: { hasNextPage: false } });
  await v2('GET', `/serverless/${made.id}/builds/x`, undefined, 404);
  t.match(await v2('GET', '/billing/pods?lastN=2&bucketSize=month'), {
    records: [{ podId: String, totalAmount: Number, startTime: /-01T00:00:00\.000Z$/ }],
    metadata: { query: { bucketSize: 'month', podId: null }, uniquePodCount: 1 },
  });
  t.match(await v2('GET', '/billing'), {
    records: [{ totalAmount: Number, storageStandardAmount: Number }],
    metadata: { totals: { clusterGpuAmount: 0 } },
  });
  await v2('GET', '/billing?lastN=2&endTime=2026-01-01T00:00:00Z', undefined, 400);
  await v2('GET', '/billing?endTime=2026-01-01T23:59:60Z', undefined, 422);
  for (const word of ['clusters', 'tags', 'sandboxes']) {
    t.same(await v2('GET', `/${word}`), { [word]: [], pagination: { nextCursor: null, hasNextPage: false } });
    const { status, headers, json } = await request('POST', `/v2/${word}`, { name: 'x' });
    t.same([status, headers.get('content-type')], [501, 'application/problem+json; charset=utf-8']);
    t.match(json, { title: 'Not Implemented', status: 501, detail: / here: / });
  }
});

t.test('the catalogue says what the fleet has', async (t) => {
  const { gpus } = (await v2('GET', '/catalog/gpus')) as unknown as { gpus: Json[] };
  t.ok(gpus.length >= 49);
  const known = await v2('GET', '/catalog/gpus/NVIDIA%20GeForce%20RTX%204090?include=AVAILABILITY&product=POD');
  t.match(known, { pool: 'ADA_24', availability: 'NONE', dataCenters: [] });
  await v2('GET', '/catalog/gpus?include=AVAILABILITY', undefined, 400);
  await v2('GET', '/catalog/gpus/NVIDIA%20NOPE', undefined, 404);
  t.match(await v2('GET', '/catalog/cpus/cpu3c?include=AVAILABILITY&product=SERVERLESS&vcpuCount=2'), {
    availability: 'HIGH',
    dataCenters: [{ id: 'EU-RO-1', availability: 'HIGH' }],
  });
  t.match(await v2('GET', '/catalog/datacenters?include=GPU_AVAILABILITY,CPU_AVAILABILITY'), {
    dataCenters: [
      {
        id: 'EU-RO-1',
        region: 'UNKNOWN',
        networkVolumeTypes: ['STANDARD'],
        gpuAvailability: [],
        cpuAvailability: [{ id: 'cpu3c' }],
      },
    ],
  });
});
