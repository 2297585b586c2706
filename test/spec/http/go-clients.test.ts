// test: postgres, 5 s
/**
 * Requests as two clients in Go send them, which no registry offers here: runpodctl of October 2026 for endpoints,
 * templates and SSH keys, and the Terraform provider for all its resources. Both send a JSON content type with every
 * request, also without a body.
 */
import type { Test } from 'tap';
import t from 'tap';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { startSystem } from '../../helpers/system/system.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const PLACE = 'EU-RO-1';
const JSON_TYPE = { 'content-type': 'application/json' };
const USER_AGENT = { 'user-agent': 'runpod-cli/2.15.0 (linux; amd64)' };
/** Fields of saveEndpoint and of the configuration that runpodctl reads before it. */
const FIELDS = `id name templateId gpuIds gpuCount instanceIds workersMin workersMax locations networkVolumeId
  networkVolumeIds { networkVolumeId } idleTimeout scalerType scalerValue executionTimeoutMs minCudaVersion
  flashBootType`;

/** Members that the clients read, in the types that Go decodes them into. */
interface Entry {
  id: string;
  name: string;
  pool: string | null;
}
interface Endpoint extends Entry {
  workers: { min: number; max: number; idleTimeout?: number };
  scaling: { type: string; queueDelay?: number; requestCount?: number };
}
interface Page {
  pagination: { nextCursor: string | null; hasNextPage: boolean };
}

t.setTimeout(600_000);
const system = await startSystem(t, { agents: 0 });
const gpus = [{ uuid: 'GPU-a', name: GPU, memoryMib: 24_564, migProfile: '' }];
await joinEngineMachine(t, system, { gpus, locations: [PLACE, 'RO'], cpuCount: 16, memoryMib: 65_536 });

/** Sends a request as both clients do, which must be answered with this status. */
async function send<Result = Entry>(
  t: Test,
  method: string,
  path: string,
  body?: object,
  wanted = { POST: 201, DELETE: 204 }[method] ?? 200,
): Promise<Result> {
  const { status, json, text } = await system.request(method, path, body, { ...JSON_TYPE, ...USER_AGENT });
  t.equal(status, wanted, `${method} ${path}: ${text.slice(0, 300)}`);
  return json as unknown as Result;
}

async function graphql<Result>(t: Test, query: string, variables: object): Promise<Result> {
  const { data, errors } = await send<{ data: Result; errors?: unknown }>(
    t,
    'POST',
    '/graphql',
    { query, variables },
    200,
  );
  t.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** Reads a list as runpodctl does: page by page, of two entries in place of its 1,000. */
async function allPages<Item>(t: Test, path: string, key: string): Promise<Item[]> {
  const found: Item[] = [];
  for (let cursor = ''; ; ) {
    const query = new URLSearchParams({ ...(cursor && { cursor }), limit: '2' });
    const page = await send<Page & Record<string, Item[]>>(t, 'GET', `${path}?${query}`);
    found.push(...page[key]!);
    if (!page.pagination.hasNextPage || page.pagination.nextCursor === null) return found;
    cursor = page.pagination.nextCursor;
  }
}

t.test('runpodctl: endpoints', async (t) => {
  const template = await send(t, 'POST', '/v2/templates', { name: 'ctl', image: 'me/ctl:1', serverless: true });
  const { serverlessGpuPools } = await graphql<{ serverlessGpuPools: { id: string; gpuTypeIds: string[] }[] }>(
    t,
    'query { serverlessGpuPools { id gpuTypeIds } }',
    {},
  );
  const pool = serverlessGpuPools.find(({ gpuTypeIds }) => gpuTypeIds.includes(GPU))!;
  t.equal(pool.id, 'ADA_24');
  const SAVE = `mutation SaveEndpoint($input: EndpointInput!) {
    saveEndpoint(input: $input) { ${FIELDS} modelReferences }
  }`;
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    const input = {
      ...{ name, templateId: template.id, gpuIds: pool.id, gpuCount: 1, workersMin: 0, workersMax: 0, idleTimeout: 7 },
      ...{ scalerType: 'QUEUE_DELAY', scalerValue: 4, executionTimeoutMs: 600_000, flashBootType: 'FLASHBOOT' },
    };
    ids.push((await graphql<{ saveEndpoint: Entry }>(t, SAVE, { input })).saveEndpoint.id);
  }
  const listed = await allPages<Endpoint>(t, '/v2/serverless', 'endpoints');
  t.same(
    listed.map(({ id }) => id),
    ids.toReversed(),
  );
  const [id] = ids as [string];
  const one = `/v2/serverless/${id}`;
  const before = await send<Endpoint>(t, 'GET', one);
  t.match(before, { gpu: { pools: [pool.id], excludedTypes: [], count: 1 }, flashboot: 'FLASHBOOT', timeout: 600_000 });
  t.match(await send(t, 'GET', `${one}/workers`), { workers: [], summary: { total: 0 }, endpointVersion: 0 });

  await t.test('update: reads, and sends the blocks whole', async (t) => {
    const workers = { min: before.workers.min, max: 2, idleTimeout: before.workers.idleTimeout };
    const changed = await send<Endpoint>(t, 'PATCH', one, { workers, scaling: before.scaling });
    t.match(changed, { workers: { min: 0, max: 2, idleTimeout: 7 }, scaling: { type: 'QUEUE_DELAY', queueDelay: 4 } });
    const counted = await send<Endpoint>(t, 'PATCH', one, { scaling: { type: 'REQUEST_COUNT', requestCount: 4 } });
    t.notOk('idleTimeout' in counted.workers, 'it would send back what is refused there');
    await send(t, 'PATCH', one, { workers: { min: 0, max: 3 } });
    t.match(await send(t, 'PATCH', one, { flashboot: 'OFF' }), { flashboot: 'OFF', workers: { max: 3 } });
    await send(t, 'PATCH', `/v1/endpoints/${id}`, { name: 'renamed' }, 200);
    t.match(await send(t, 'GET', one), { name: 'renamed' });
    t.match(await send(t, 'GET', `/v2/templates/${template.id}`), { name: 'ctl' }, 'a shared template keeps its name');
  });

  await t.test('models: the whole configuration goes back over GraphQL', async (t) => {
    const read = `query EndpointConfig($id: String!) { myself { endpoint(id: $id) { ${FIELDS} } } }`;
    const { myself } = await graphql<{ myself: { endpoint: Record<string, unknown> } }>(t, read, { id });
    const { endpoint } = myself;
    const input = {
      ...endpoint,
      // Go has an empty text where the answer has null.
      ...Object.fromEntries(
        ['networkVolumeId', 'minCudaVersion', 'locations'].map((name) => [name, endpoint[name] ?? '']),
      ),
      modelReferences: ['https://huggingface.co/org/model:main'],
    };
    const { saveEndpoint } = await graphql<{ saveEndpoint: object }>(t, SAVE, { input });
    t.same(saveEndpoint, { ...endpoint, modelReferences: ['org/model'] }, 'nothing else changed');
    t.match(await send(t, 'GET', one), { models: ['org/model'], workers: { max: 3 }, flashboot: 'OFF' });
  });

  for (const each of ids) await send(t, 'DELETE', `/v2/serverless/${each}`);
  t.match(await send(t, 'GET', one, undefined, 404), { detail: /\w/ }, 'which it shows');
  await send(t, 'DELETE', `/v2/templates/${template.id}`);
});

t.test('runpodctl: templates', async (t) => {
  const body = {
    ...{ name: 'box', image: 'me/box:1', serverless: false, ports: ['22/tcp'], env: { A: '1' }, disk: 20 },
    ...{ mounts: { persistent: { size: 10, path: '/workspace' } }, cmd: ['sleep', '1'], entrypoint: ['sh', '-c'] },
  };
  const { id } = await send(t, 'POST', '/v2/templates', body);
  t.match(await send(t, 'GET', `/v2/templates/${id}`), { ...body, registry: null, category: String, public: false });
  t.match(await send(t, 'PATCH', `/v2/templates/${id}`, { image: 'me/box:2', registry: null }), { image: 'me/box:2' });
  t.same(await send(t, 'GET', '/v2/catalog/templates?source=official'), { templates: [] });
  const asked = await graphql(t, 'query { myself { podTemplates { id readme } } }', {});
  t.match(asked, { myself: { podTemplates: [{ id, readme: String }] } });
  await send(t, 'DELETE', `/v2/templates/${id}`);
});

t.test('runpodctl: SSH keys are read, changed and written back', async (t) => {
  const [a, b] = ['a', 'b'].map((who) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtpg0V7tUKKS+h/mUG7m4Cy ${who}@host`);
  const path = '/v2/account/ssh-keys';
  t.same(await send(t, 'GET', path), { keys: [] });
  t.same(await send(t, 'PUT', path, { keys: [a] }), { keys: [a] });
  t.same(await send(t, 'PUT', path, { keys: [a, b] }), { keys: [a, b] });
  t.same(await send(t, 'GET', path), { keys: [a, b] });
  t.same(await send(t, 'PUT', path, { keys: [] }), { keys: [] });
});

t.test('Terraform: an endpoint from apply to destroy', async (t) => {
  const { gpus: types } = await send<{ gpus: Entry[] }>(t, 'GET', '/v2/catalog/gpus');
  const { pool } = types.find(({ id }) => id === GPU)!;
  const template = await send(t, 'POST', '/v2/templates', {
    ...{ name: 'tf', image: 'me/tf:1', category: 'NVIDIA', disk: 20, env: { A: '1' }, public: false },
    ...{ serverless: true, ports: ['8000/http'] },
  });
  const { image } = await send<{ image: string }>(t, 'GET', `/v2/templates/${template.id}`);
  const volume = await send(t, 'POST', '/v2/network-volumes', {
    name: 'tf',
    size: 10,
    dataCenter: PLACE,
    type: 'STANDARD',
  });
  const body = {
    ...{ name: 'tf', image, type: 'QUEUE', gpu: { pools: [pool], count: 1 }, workers: { min: 0, max: 1 } },
    ...{ scaling: { type: 'QUEUE_DELAY', queueDelay: 5 }, networkVolumes: [volume.id], dataCenterIds: [PLACE] },
    ...{ env: { B: '2' }, timeout: 600_000 },
  };
  const made = await send(t, 'POST', '/v2/serverless', body);
  const one = `/v2/serverless/${made.id}`;
  // What it reads into its state must be what was applied, or its next plan has a change.
  t.match(await send(t, 'GET', one), body);
  const change = { ...body, name: 'tf-2', image: 'me/tf:2', workers: { min: 0, max: 2 }, timeout: 300_000 };
  const { type: _, ...changes } = change;
  t.match(await send(t, 'PATCH', one, changes), change);
  t.match(await send(t, 'GET', one), change);
  t.match(await send(t, 'GET', `${one}/workers`), { workers: Array });
  t.match(await send(t, 'POST', '/v2/serverless', { ...body, flashboot: true }, 422), {
    errors: ['$.flashboot: must be string', /^\$\.flashboot: must be one of OFF, FLASHBOOT, PRIORITY_FLASHBOOT/],
  });
  const { errors } = await send<{ errors: string[] }>(t, 'PATCH', one, { computeType: 'GPU', vcpuCount: 2 }, 422);
  t.equal(errors.length, 2, 'leftovers of REST v1 are named');
  await send(t, 'DELETE', one);
  await send(t, 'GET', one, undefined, 404);
  await send(t, 'DELETE', `/v2/network-volumes/${volume.id}`);
  await send(t, 'DELETE', `/v2/templates/${template.id}`);
});

t.test('Terraform: volumes, credentials, pods and what it reads', async (t) => {
  const volume = await send(t, 'POST', '/v2/network-volumes', { name: 'v', size: 10, dataCenter: PLACE });
  const at = `/v2/network-volumes/${volume.id}`;
  t.match(await send(t, 'PATCH', at, { name: 'w', size: 11 }), {
    name: 'w',
    size: 11,
    dataCenter: PLACE,
    type: 'STANDARD',
  });
  await send(t, 'DELETE', at);
  await send(t, 'GET', at, undefined, 404);

  const registry = await send(t, 'POST', '/v2/registries', { name: 'r', username: 'u', password: 'p' });
  t.same(await send(t, 'GET', `/v2/registries/${registry.id}`), { id: registry.id, name: 'r' });
  await send(t, 'DELETE', `/v2/registries/${registry.id}`);

  const pod = await send(t, 'POST', '/v2/pods', {
    ...{
      name: 'p',
      image: 'me/box:1',
      gpu: { id: GPU, count: 1 },
      cloud: 'SECURE',
      disk: 20,
      ports: ['22/tcp', '8888/http'],
    },
    ...{ env: { A: '1' }, startSsh: true, startJupyter: false },
  });
  const its = `/v2/pods/${pod.id}`;
  t.match(await send(t, 'GET', its), { name: 'p', gpu: { id: GPU }, createdAt: String });
  t.match(await send(t, 'PATCH', its, { name: 'q', env: { A: '2' }, ports: ['22/tcp'] }), { id: pod.id, name: 'q' });
  await send(t, 'DELETE', its);
  await send(t, 'GET', its, undefined, 404);

  t.match(await send(t, 'GET', '/v2/catalog/datacenters'), {
    dataCenters: [{ id: PLACE, name: PLACE, globalNetwork: false }],
  });
  t.same(await send(t, 'GET', '/v2/registries/delegations'), {
    delegations: [],
    pagination: { nextCursor: null, hasNextPage: false },
  });
  for (const path of ['pods', 'serverless', 'network-volumes'])
    t.match(await send(t, 'GET', `/v2/billing/${path}?bucketSize=day`), {
      records: Array,
      metadata: { recordCount: Number },
    });
});
