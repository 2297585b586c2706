// test: postgres, 10 s
/**
 * Templates, registries, volumes, SSH keys and pods that REST v2, REST v1 or GraphQL makes are read and changed by the
 * others.
 */
import t from 'tap';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import type { Json } from './surfaces.ts';
import { ok, surfacesOf } from './surfaces.ts';

t.setTimeout(600_000);

const system = await startSystem(t, { agents: 1, agentEnv: { SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1,RO' } });
const { request } = system;
const { v1, v2, graphql } = surfacesOf(system);

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

t.test('a deleted registry is removed from its templates', async (t) => {
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

t.test('secrets, and a pod that waits for one', async (t) => {
  const body = { name: 'of-v2', value: 'thundering-typhoons', description: 'd' };
  const made = await v2('POST', '/account/secrets', body);
  t.match(made, {
    name: 'of-v2',
    description: 'd',
    createdAt: /Z$/,
    valueLastUpdatedAt: /Z$/,
    usedBy: [],
    usedByCount: 0,
  });
  t.equal(made['value'], undefined);
  const taken = await request('POST', '/v2/account/secrets', body);
  t.match([taken.status, taken.json], [409, { title: 'Conflict', detail: /"of-v2"/ }]);
  for (const [wrong, fault] of [
    [{ value: 'v' }, /name/],
    [{ name: '9', value: 'v' }, /name/],
    [{ name: 'n', value: '' }, /value/],
    [{ name: 'n', value: 'v', description: null }, /description/],
    [{ name: 'n', value: 'v', scope: 'all' }, /scope/],
  ] as const)
    t.match(await v2('POST', '/account/secrets', wrong, 422), { errors: [fault] });
  await v2('POST', '/account/secrets', { name: 'RUNPOD_x', value: 'v' }, 400);
  await v2('PATCH', `/account/secrets/${made.id}`, {}, 422);
  await v2('PATCH', `/account/secrets/${made.id}`, { name: 'other' }, 422);
  t.match(await v2('PATCH', `/account/secrets/${made.id}`, { description: '' }), { description: null });

  const { secretCreate } = await graphql(
    'mutation { secretCreate(input: { name: "of-graphql", value: "v" }) { id name description createdAt } }',
  );
  t.match(secretCreate, { name: 'of-graphql', description: null, createdAt: String });
  const { id } = secretCreate as Json;
  await graphql(`mutation { secretUpdate(input: { id: "${id}", description: "x" }) { id } }`);
  t.same(await graphql('{ myself { secrets { name description } } }'), {
    myself: {
      secrets: [
        { name: 'of-v2', description: null },
        { name: 'of-graphql', description: 'x' },
      ],
    },
  });
  t.match(await v2('GET', '/account/secrets?name=of-graphql'), {
    secrets: [{ id }],
    pagination: { hasNextPage: false },
  });
  t.match(await v2('GET', '/account/secrets?limit=1'), { secrets: [{ id }], pagination: { hasNextPage: true } });
  t.same((await v2('GET', '/account/secrets?name=none'))['secrets'], []);
  t.same(await graphql(`mutation { secretDelete(id: "${id}") }`), { secretDelete: null });
  await v2('GET', `/account/secrets/${id}`, undefined, 404);

  const pod = await v2('POST', '/pods', {
    name: 'waits',
    image: '',
    cmd: ['sh', '-c', 'test "$TOKEN" = typhoons && exec sleep 1000'],
    cpu: { id: 'cpu3c', vcpuCount: 2 },
    env: { TOKEN: '{{ RUNPOD_SECRET_late }}' },
  });
  const reach = (status: string) =>
    waitFor(`the pod to be ${status}`, async () => (await v2('GET', `/pods/${pod.id}`))['status'] === status);
  await reach('ERROR');
  const late = await v2('POST', '/account/secrets', { name: 'late', value: 'typhoons' });
  t.match(late, { usedBy: [{ kind: 'POD', id: pod.id, name: 'waits' }], usedByCount: 1 });
  await reach('RUNNING');
  t.match(await v2('GET', `/pods/${pod.id}`), { env: { TOKEN: '{{ RUNPOD_SECRET_late }}' } });
  await v2('POST', `/pods/${pod.id}/action`, { action: 'terminate' }, 204);
  await v2('DELETE', `/account/secrets/${late.id}`);
  await v2('DELETE', `/account/secrets/${made.id}`);
});

t.test('releases, billing, and features that do not exist here', async (t) => {
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
    releases: { diff: { field: string; old: unknown; new: unknown }[] }[];
    pagination: { nextCursor: string };
  };
  t.match(first, { endpointVersion: 1, rollout: { inProgress: false, workersTotal: 0, percentOnLatest: 100 } });
  t.same(
    first.releases.map(({ diff }) => diff),
    [
      [{ field: 'idleTimeout', old: 10, new: 7 }],
      [
        { field: 'workersMax', old: null, new: null },
        { field: 'template.imageName', old: 'a/b:1', new: 'a/b:2' },
      ],
    ],
  );
  const rest = await v2('GET', `/serverless/${made.id}/releases?limit=2&cursor=${first.pagination.nextCursor}`);
  t.match(rest, { releases: [{ version: 0, source: 'MANUAL' }], pagination: { hasNextPage: false } });
  t.equal((await request('GET', `/v2/templates?cursor=${first.pagination.nextCursor}`)).status, 422);
  t.match(await v2('GET', `/serverless/${made.id}/builds`), { builds: [], pagination: { hasNextPage: false } });
  await v2('GET', `/serverless/${made.id}/builds/x`, undefined, 404);
  t.match(await v2('GET', '/billing/pods?lastN=2&bucketSize=month'), {
    records: [{ podId: String, totalAmount: Number, startTime: /-01T00:00:00\.000Z$/ }],
    metadata: { query: { bucketSize: 'month', podId: null }, uniquePodCount: 2 },
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

t.test('the catalogue has the availability of the fleet', async (t) => {
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

t.test('creations with an Idempotency-Key: one resource, also for a client that lost the response', async (t) => {
  const v2Body = { container: { name: 'k', image: 'a/b:1' }, registry: { name: 'k', username: 'u', password: 'p' } };
  const creations: [string, object, object][] = [
    ['/v2/templates', v2Body.container, { ...v2Body.container, name: 'k2' }],
    ['/v2/registries', v2Body.registry, { ...v2Body.registry, password: 'q' }],
    ['/v2/network-volumes', { name: 'k', size: 10, dataCenter: 'X' }, { name: 'k', size: 20, dataCenter: 'X' }],
    ['/v2/serverless', endpointBody('k'), endpointBody('k2')],
    ['/v2/pods', podBody('k'), podBody('k2')],
    ['/v1/templates', { name: 'k1', imageName: 'a/b:1' }, { name: 'k3', imageName: 'a/b:1' }],
    ['/v1/networkvolumes', { name: 'k', size: 10, dataCenterId: 'X' }, { name: 'k', size: 20, dataCenterId: 'X' }],
  ];
  const made: string[] = [];
  for (const [path, body, other] of creations) {
    const headers = { 'idempotency-key': `key of ${path}` };
    const first = await request('POST', path, body, headers);
    const again = await request('POST', path, body, headers);
    t.same([again.status, again.json.id], [first.status, first.json.id], `${path}: ${first.text.slice(0, 200)}`);
    const reused = await request('POST', path, other, headers);
    t.match([reused.status, reused.json], [400, { code: 'idempotency_key_reused' }], path);
    if (path.endsWith('/pods')) made.push(first.json.id);
  }
  const tooLong = await request('POST', '/v2/templates', v2Body.container, { 'idempotency-key': 'k'.repeat(256) });
  t.match([tooLong.status, tooLong.json], [422, { errors: [/^Idempotency-Key must have 1 to 255/] }]);
  for (const id of made) await v2('DELETE', `/pods/${id}`);
});

function endpointBody(name: string): object {
  return {
    name,
    type: 'QUEUE',
    image: 'a/b:1',
    cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
    scaling: { type: 'REQUEST_COUNT', requestCount: 1 },
    workers: { max: 0 },
  };
}

function podBody(name: string): object {
  return { name, image: '', args: 'sleep 100', cpu: { id: 'cpu3c', vcpuCount: 2 } };
}

t.test('members without effect are named, and startJupyter gives a password', async (t) => {
  const asked = { ...podBody('jupyter'), startJupyter: true, startSsh: false, cloud: 'COMMUNITY' };
  const made = await request('POST', '/v2/pods', asked);
  t.equal(made.headers.get('x-slipway-ignored'), 'cloud', 'what asked for something else than what holds');
  t.match(made.json, { env: { JUPYTER_PASSWORD: /^[a-z0-9]{24}$/ } });
  await v2('DELETE', `/pods/${made.json.id}`); // A machine of two processors runs one of them.
  const own = await request('POST', '/v2/pods', {
    ...asked,
    cloud: 'SECURE',
    startSsh: true,
    env: { JUPYTER_PASSWORD: 'mine' },
  });
  t.match(
    [own.status, own.headers.get('x-slipway-ignored'), own.json],
    [201, null, { env: { JUPYTER_PASSWORD: 'mine' } }],
  );
  await v2('DELETE', `/pods/${own.json.id}`);
  const template = { name: 'cuda', image: 'a/b:1', allowedCudaVersions: ['12.4'] };
  t.match(await v2('POST', '/templates', template, 422), { errors: [/^\$\.allowedCudaVersions: /] });
  await v2('POST', '/templates', { ...template, allowedCudaVersions: [] });
});
