// test: postgres, 5 s
/**
 * Operations of REST v2 that few clients call, and rules between resources: public templates, credentials in use,
 * the catalogue, billing, changes that name nothing.
 */
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';

const PLACE = 'EU-RO-1';
const GPU = 'NVIDIA L4';
const LAST = { nextCursor: null, hasNextPage: false };

t.setTimeout(300_000);
const system = await startSystem(t, { agents: 0 });
const gpus = [{ uuid: 'GPU-a', name: GPU, memoryMib: 24_000, migProfile: '' }];
await joinEngineMachine(t, system, {
  gpus,
  locations: [PLACE, 'RO'],
  cpuCount: 16,
  memoryMib: 65_536,
  cudaVersion: '12.8',
});
const { request, url } = system;
const read = async (path: string): Promise<Record<string, unknown>> => {
  const { status, json, text } = await request('GET', path);
  t.equal(status, 200, `${path}: ${text}`);
  return json as unknown as Record<string, unknown>;
};

t.test('a public template of another account is read and listed, and not changed', async (t) => {
  const other = await call(system.clients.access, 'createAccount', { name: 'publisher' }, system.rootKey);
  const publisher = publicRequest(url, await system.newKey(undefined, other.accountId));
  const made = await publisher('POST', '/v2/templates', { name: 'shared', image: 'a/b:1', public: true });
  const hidden = await publisher('POST', '/v2/templates', { name: 'hidden', image: 'a/b:1' });
  const own = await request('POST', '/v2/templates', { name: 'own', image: 'a/b:1', public: true });
  const one = `/v2/templates/${made.json.id}`;
  t.match(await read(one), { name: 'shared', public: true });
  for (const [method, body] of [
    ['PATCH', { name: 'mine' }],
    ['DELETE', undefined],
  ] as const)
    t.match(await request(method, one, body), {
      status: 404,
      json: { title: 'Not Found', code: 'template_not_found' },
    });
  t.equal((await request('GET', `/v2/templates/${hidden.json.id}`)).status, 404, 'one that is not public');
  t.match(await read('/v2/catalog/templates?source=community'), { templates: [{ id: made.json.id }] });
  t.equal(
    ((await read('/v2/catalog/templates?source=community'))['templates'] as object[]).length,
    1,
    'not the own one',
  );
  for (const query of ['', '?source=official', '?source=verified'])
    t.same(await read(`/v2/catalog/templates${query}`), { templates: [] }, query);
  t.match((await publisher('GET', '/v2/catalog/templates?source=community')).json, {
    templates: [{ id: own.json.id }],
  });
  t.equal((await request('GET', '/v2/catalog/templates?source=mine')).status, 422);
  t.match(
    await read('/v2/templates'),
    { templates: [{ id: own.json.id }], pagination: LAST },
    'lists have the own ones',
  );
});

t.test('credentials that a pod uses are not deleted; templates lose them', async (t) => {
  const { json: registry } = await request('POST', '/v2/registries', { name: 'hub', username: 'u', password: 'p' });
  const { json: pod } = await request('POST', '/v2/pods', {
    ...{ name: 'uses', image: 'a/b:1', registry: registry.id, cpu: { id: 'cpu3c', vcpuCount: 2 } },
  });
  t.match(pod, { registry: registry.id, status: 'PROVISIONING' });
  t.match(await request('DELETE', `/v2/registries/${registry.id}`), {
    ...{ status: 400, json: { title: 'Bad Request', code: 'in_use', detail: new RegExp(pod.id) } },
  });
  const { json: changed } = await request('PATCH', `/v2/pods/${pod.id}`, { registry: null });
  t.match(changed, { registry: null });
  t.equal((await request('DELETE', `/v2/registries/${registry.id}`)).status, 204);
  t.equal((await request('DELETE', `/v2/pods/${pod.id}`)).status, 204);
  for (const [wrong, fault] of [
    [{ name: 'n'.repeat(192), username: 'u', password: 'p' }, /^\$\.name: must NOT have more than 191/],
    [{ name: 'n', username: 'u'.repeat(192), password: 'p' }, /^\$\.username: must NOT have more than 191/],
    [{ name: 'n', username: 'u', password: 'p'.repeat(16_385) }, /^\$\.password: must NOT have more than 16384/],
    [{ name: 'n', username: 'u', password: '' }, /^\$\.password: must NOT have fewer than 1/],
  ] as const)
    t.match(await request('POST', '/v2/registries', wrong), { status: 422, json: { errors: [fault] } });
});

t.test('a change that names nothing changes nothing', async (t) => {
  const { json: template } = await request('POST', '/v2/templates', { name: 'still', image: 'a/b:1', env: { A: '1' } });
  const { json: pod } = await request('POST', '/v2/pods', {
    name: 'still',
    image: 'a/b:1',
    cpu: { id: 'cpu3c', vcpuCount: 2 },
  });
  for (const path of [`/v2/templates/${template.id}`, `/v2/pods/${pod.id}`])
    t.same((await request('PATCH', path, {})).json, await read(path), path);
  const { json: volume } = await request('POST', '/v2/network-volumes', { name: 'v', size: 10, dataCenter: PLACE });
  const { json: secret } = await request('POST', '/v2/account/secrets', { name: 's', value: 'v' });
  for (const path of [`/v2/network-volumes/${volume.id}`, `/v2/account/secrets/${secret.id}`])
    t.equal((await request('PATCH', path, {})).status, 422, path);
  t.equal((await request('DELETE', `/v2/pods/${pod.id}`)).status, 204);
});

t.test('whether the workers of an endpoint have GPUs is fixed', async (t) => {
  const common = {
    type: 'QUEUE',
    image: 'a/b:1',
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
    workers: { max: 0 },
  };
  const cpu = [{ id: 'cpu3c', vcpuCount: 2 }];
  const { json: gpuOne } = await request('POST', '/v2/serverless', {
    ...common,
    name: 'with',
    gpu: { pools: ['ADA_24'] },
  });
  const { json: without } = await request('POST', '/v2/serverless', { ...common, name: 'without', cpu });
  for (const [{ id }, body, detail] of [
    [gpuOne, { cpu }, /^cpu: the workers of this endpoint have GPUs; change gpu/],
    [gpuOne, { gpu: { count: 2 }, cpu }, /^Give exactly one of gpu and cpu/],
    [without, { gpu: { count: 1 } }, /^gpu: the workers of this endpoint have no GPU; change cpu/],
    [without, { gpu: { minCudaVersion: '12.4' } }, /^gpu: the workers of this endpoint have no GPU/],
  ] as const) {
    const path = `/v2/serverless/${id}`;
    const before = await read(path);
    t.match(await request('PATCH', path, body), { status: 400, json: { detail } });
    t.same(await read(path), before, 'nothing was changed');
  }
});

t.test('forged cursors of releases are no pages', async (t) => {
  const made = await request('POST', '/v2/serverless', {
    ...{ name: 'released', type: 'QUEUE', image: 'a/b:1', gpu: {}, scaling: { type: 'QUEUE_DELAY', queueDelay: 4 } },
    workers: { max: 0 },
  });
  const path = `/v2/serverless/${made.json.id}/releases`;
  await request('PATCH', `/v2/serverless/${made.json.id}`, { image: 'a/b:2' });
  const { pagination } = (await read(`${path}?limit=1`)) as { pagination: { nextCursor: string } };
  const [scope, token] = JSON.parse(Buffer.from(pagination.nextCursor, 'base64url').toString()) as [string, string];
  t.match(token, /^\d+$/);
  for (const forged of ['abc', '-5', '1e30', '1.5', ' 1', '9'.repeat(20)]) {
    const cursor = Buffer.from(JSON.stringify([scope, forged])).toString('base64url');
    t.match(
      await request('GET', `${path}?cursor=${cursor}`),
      { status: 422, json: { errors: [/^query\.cursor: /] } },
      forged,
    );
  }
});

t.test('what is not here: empty lists, and refusals that say what to do', async (t) => {
  t.same(await read('/v2/registries/delegations'), { delegations: [], pagination: LAST });
  t.match(await request('POST', '/v2/registries/delegations', { resource: 'arn:aws:ecr:x' }), {
    ...{ status: 400, json: { detail: /POST \/v2\/registries/ } },
  });
  t.equal((await request('DELETE', '/v2/registries/delegations/x')).status, 404);
  t.same(await read('/v2/global-volumes'), { globalVolumes: [], pagination: LAST });
  t.match(await request('POST', '/v2/global-volumes', { name: 'g' }), {
    ...{ status: 400, json: { detail: /POST \/v2\/network-volumes/ } },
  });
  for (const word of ['clusters', 'tags', 'sandboxes']) {
    t.equal((await request('GET', `/v2/${word}/x`)).status, 404);
    for (const [method, path] of [
      ['POST', `/v2/${word}`],
      ['PATCH', `/v2/${word}/x`],
      ['DELETE', `/v2/${word}/x`],
    ] as const)
      t.match(await request(method, path, method === 'DELETE' ? undefined : {}), {
        status: 501,
        json: { code: 'not_implemented' },
      });
  }
});

t.test('the catalogue follows the fleet', async (t) => {
  const stock = 'include=AVAILABILITY&product=SERVERLESS,POD';
  const gpu = `/v2/catalog/gpus/${encodeURIComponent(GPU)}`;
  const full = await read(`${gpu}?${stock}`);
  t.match(full, {
    availability: /^(LOW|MEDIUM|HIGH)$/,
    dataCenters: [{ id: PLACE }],
    secure: true,
    maxCount: { secure: 1 },
  });
  const cuda = full['cudaVersions'] as { version: string; available: boolean }[];
  t.equal(cuda.find(({ available }) => available)?.version, '12.8', 'the newest that its machine runs');
  for (const query of ['count=2', 'cloud=COMMUNITY', 'countryCodes=DE', 'cudaVersions=13.0', 'minCudaVersion=13'])
    t.match(await read(`${gpu}?${stock}&${query}`), { availability: 'NONE', dataCenters: [] }, query);
  for (const query of ['cloud=SECURE', 'countryCodes=DE,RO', 'cudaVersions=12.4', 'minCudaVersion=12.8'])
    t.match(await read(`${gpu}?${stock}&${query}`), { dataCenters: [{ id: PLACE }] }, query);
  t.notOk('availability' in (await read(gpu)), 'only if it is asked for');

  const { cpus } = (await read(`/v2/catalog/cpus?${stock}&vcpuCount=16`)) as {
    cpus: { id: string; availability: string }[];
  };
  t.ok(cpus.some(({ availability }) => availability !== 'NONE'));
  t.match(await read(`/v2/catalog/cpus/cpu3c?${stock}&vcpuCount=1024`), { availability: 'NONE' });
  t.equal((await request('GET', '/v2/catalog/cpus/cpu99')).status, 404);
  t.equal((await request('GET', '/v2/catalog/cpus?include=AVAILABILITY')).status, 400);

  const center = await read(`/v2/catalog/datacenters/${PLACE}?include=GPU_AVAILABILITY,CPU_AVAILABILITY`);
  t.match(center, {
    id: PLACE,
    gpuAvailability: [{ id: GPU }],
    cpuAvailability: Array,
    networkVolumeTypes: ['STANDARD'],
  });
  t.equal((await request('GET', '/v2/catalog/datacenters/US-KS-2')).status, 404);
  for (const query of [
    'regions=EUROPE',
    'networkVolumeTypes=HIGH_PERFORMANCE',
    'compliance=GDPR',
    'globalNetwork=true',
  ])
    t.same(await read(`/v2/catalog/datacenters?${query}`), { dataCenters: [] }, query);
  for (const query of ['regions=UNKNOWN,EUROPE', 'networkVolumeTypes=STANDARD', 'globalNetwork=false'])
    t.match(await read(`/v2/catalog/datacenters?${query}`), { dataCenters: [{ id: PLACE }] }, query);
});

t.test('billing: every report, and periods of any length', async (t) => {
  const kinds = ['', '/pods', '/serverless', '/network-volumes', '/endpoints'];
  const sizes = ['hour', 'day', 'week', 'month', 'year'];
  for (const kind of kinds)
    for (const bucketSize of sizes) {
      const { metadata, records } = (await read(`/v2/billing${kind}?lastN=3&bucketSize=${bucketSize}`)) as {
        metadata: { query: { bucketSize: string }; recordCount: number };
        records: object[];
      };
      t.same([metadata.query.bucketSize, metadata.recordCount], [bucketSize, records.length], `${kind} ${bucketSize}`);
    }
  // Of years there were fewer than that since 1970.
  for (const query of ['lastN=10000&bucketSize=hour', 'lastN=10000&bucketSize=month', 'lastN=10000&bucketSize=year'])
    for (const kind of kinds) {
      const { metadata } = (await read(`/v2/billing${kind}?${query}`)) as {
        metadata: { query: { startTime: string } };
      };
      t.match(metadata.query.startTime, /^(19|20)\d\d-/, `${kind} ${query}`);
    }
});
