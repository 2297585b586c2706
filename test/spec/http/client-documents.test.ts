// test: postgres, 10 s
/**
 * Requests as real clients send them: runpod-flash 1.21, runpodctl 2.7 and its sources of October 2026, documents with
 * enum words in quotes.
 */
import t from 'tap';
import { graphqlClient } from '../../facades/graphql/graphql-client.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { startSystem } from '../../helpers/system/system.ts';

/**
 * Document that runpod-flash sends for `ServerlessEndpoint(name="ocr", imageName="ocr:1", env={"A": "1"})`, taken from
 * its own model.
 */
const TEMPLATE = {
  advancedStart: false,
  config: {},
  containerDiskInGb: 64,
  containerRegistryAuthId: '',
  dockerArgs: '',
  env: [{ key: 'A', value: '1' }],
  imageName: 'ocr:1',
  ports: '',
  startScript: '',
};
const ENDPOINT = {
  executionTimeoutMs: 0,
  idleTimeout: 60,
  scalerValue: 4,
  workersMax: 1,
  workersMin: 0,
  workersPFBTarget: 0,
  flashBootType: 'FLASHBOOT',
};
const GPUS = {
  gpuCount: 1,
  minCudaVersion: '12.8',
  allowedCudaVersions: '',
  gpuIds:
    'ADA_24,ADA_32_PRO,ADA_48_PRO,ADA_80_PRO,AMPERE_16,AMPERE_24,AMPERE_48,' +
    'AMPERE_80,BLACKWELL_180,BLACKWELL_96,HOPPER_141',
};
const SAVE = `mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { aiKey gpuIds id idleTimeout locations name networkVolumeId
  networkVolumeIds { networkVolumeId dataCenterId } flashEnvironmentId scalerType scalerValue templateId type userId version workersMax workersMin
  workersStandby workersPFBTarget gpuCount allowedCudaVersions minCudaVersion executionTimeoutMs instanceIds activeBuildid idePodId flashBootType } }`;
const TEMPLATE_FIELDS = 'id containerDiskInGb dockerArgs env { key value } imageName name readme';

interface Saved {
  saveEndpoint: { id: string; templateId: string };
}
interface Entry {
  id: string;
  dockerStartCmd: string[];
  dockerEntrypoint: string[];
}

t.setTimeout(600_000);
const system = await startSystem(t);
const { ok, post, refused } = graphqlClient(t, system.url, system.key);
const rest = async (method: string, path: string, body?: object): Promise<Entry> => {
  const { status, json } = await system.request(method, `/v1/${path}`, body);
  t.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
  return json as unknown as Entry;
};

t.test('runpod-flash deploys twice', async (t) => {
  const template = { ...TEMPLATE, name: 'ServerlessEndpoint_1__PodTemplate_1' };
  const queue = { ...ENDPOINT, ...GPUS, name: 'ocr', scalerType: 'QUEUE_DELAY', type: 'QB', template };
  const {
    saveEndpoint: { id, templateId },
  } = await ok<Saved>(SAVE, { input: queue });
  t.match(await ok(SAVE, { input: { ...queue, template: undefined, templateId, id, idleTimeout: 30 } }), {
    saveEndpoint: { id, templateId, idleTimeout: 30, flashBootType: 'FLASHBOOT', type: 'QB' },
  });
  const read = `query getTemplate($id: String!) { podTemplate(id: $id) { ${TEMPLATE_FIELDS} } }`;
  t.match(await ok(read, { id: templateId }), {
    podTemplate: { imageName: 'ocr:1', env: [{ key: 'A', value: '1' }], containerDiskInGb: 64 },
  });
  const change = `mutation saveTemplate($input: SaveTemplateInput) {
    saveTemplate(input: $input) { ${TEMPLATE_FIELDS} } }`;
  const input = {
    id: templateId,
    name: 'ServerlessEndpoint_2__PodTemplate_2',
    imageName: 'ocr:2',
    containerDiskInGb: 64,
    dockerArgs: '',
    env: [],
    volumeInGb: 0,
  };
  t.match(await ok(change, { input }), { saveTemplate: { id: templateId, imageName: 'ocr:2', env: [] } });
  const cpu = {
    ...ENDPOINT,
    name: 'cpu',
    scalerType: 'QUEUE_DELAY',
    type: 'QB',
    instanceIds: ['cpu3g-2-8'],
    template: { ...TEMPLATE, name: 'cpu' },
  };
  t.match(await ok(SAVE, { input: cpu }), { saveEndpoint: { name: 'cpu', instanceIds: ['cpu3g-2-8'] } });
  const balanced = {
    ...ENDPOINT,
    ...GPUS,
    name: 'lb',
    scalerType: 'REQUEST_COUNT',
    type: 'LB',
    template: { ...TEMPLATE, name: 'lb' },
  };
  t.match(await ok(SAVE, { input: balanced }), {
    saveEndpoint: { name: 'lb', type: 'LB', scalerType: 'REQUEST_COUNT' },
  });
});

t.test('enum words with and without quotes', async (t) => {
  const template = await rest('POST', 'templates', { name: 'quoted', imageName: 'x', isServerless: true });
  const save = (word: string): string =>
    `mutation { saveEndpoint(input: { name: "quoted", gpuIds: "", workersMax: 0, templateId: "${template.id}", ` +
    `flashBootType: ${word} }) { flashBootType } }`;
  for (const word of ['"FLASHBOOT"', 'FLASHBOOT'])
    t.same(await ok(save(word)), { saveEndpoint: { flashBootType: 'FLASHBOOT' } }, word);
  for (const word of ['"OFF"', '"""OFF"""'])
    t.same(await ok(save(word)), { saveEndpoint: { flashBootType: 'OFF' } }, word);
  const unknown = { status: 400, body: { errors: [{ message: /"FlashBootType"/ }] } };
  for (const word of ['"TURBO"', 'TURBO', '""', '1']) t.match(await post({ query: save(word) }), unknown, word);
  const variable =
    'mutation Save($word: FlashBootType, $id: String!) { saveEndpoint(input: { name: "v", gpuIds: "", ' +
    'workersMax: 0, templateId: $id, flashBootType: $word }) { flashBootType } }';
  t.same(await ok(variable, { word: 'FLASHBOOT', id: template.id }), { saveEndpoint: { flashBootType: 'FLASHBOOT' } });
  t.match(await post({ query: variable, variables: { word: 'TURBO', id: template.id } }), unknown);
});

t.test('runpodctl names the ports of a template', async (t) => {
  const made = await rest('POST', 'templates', {
    name: 'named',
    imageName: 'x',
    ports: ['22/tcp', '8888/http'],
    dockerEntrypoint: ['bash', '-c'],
    dockerStartCmd: ['a b', '{}'],
  });
  const { id } = made;
  const input = {
    id,
    name: 'named',
    imageName: 'x',
    containerDiskInGb: 50,
    containerRegistryAuthId: '',
    env: [],
    ports: '22/tcp,8888/http',
    volumeInGb: 0,
    dockerArgs: '{"cmd":["a b","{}"],"entrypoint":["bash","-c"]}',
    portsConfig: [
      { port: '22', name: 'ssh' },
      { port: '8888', name: 'jupyter lab' },
    ],
    isPublic: false,
    isServerless: false,
    startJupyter: false,
    startSsh: false,
    advancedStart: false,
    readme: '',
    category: 'NVIDIA',
  };
  const change =
    'mutation UpdateTemplatePortLabels($input: SaveTemplateInput) { saveTemplate(input: $input) { id ' +
    'portsConfig { port name } } }';
  t.same(await ok(change, { input }), { saveTemplate: { id, portsConfig: [] } });
  const kept = { dockerEntrypoint: ['bash', '-c'], dockerStartCmd: ['a b', '{}'], ports: ['22/tcp', '8888/http'] };
  t.match(await rest('GET', `templates/${id}`), kept, 'the command is what it was');
  t.same(await ok(change, { input: { id, portsConfig: [], portLabels: { 22: 'ssh' }, config: { any: [1] } } }), {
    saveTemplate: { id, portsConfig: [] },
  });
  t.match(await rest('GET', `templates/${id}`), kept);
});

t.test('dockerArgs of pods on the REST surface', async (t) => {
  const pod = { computeType: 'CPU', imageName: '', dockerArgs: `sh -c "sleep '600'"`, minCudaVersion: '' };
  const made = await rest('POST', 'pods', pod);
  t.same(made.dockerStartCmd, ['sh', '-c', "sleep '600'"]);
  t.same((await rest('GET', `pods/${made.id}`)).dockerStartCmd, made.dockerStartCmd);
  const changed = await rest('PATCH', `pods/${made.id}`, { dockerArgs: '{"cmd":["600"],"entrypoint":["sleep"]}' });
  t.match(changed, { dockerStartCmd: ['600'], dockerEntrypoint: ['sleep'] });
  t.same((await rest('PATCH', `pods/${made.id}`, { dockerArgs: '', dockerStartCmd: ['1200'] })).dockerStartCmd, [
    '1200',
  ]);
  for (const [body, text] of [
    [{ dockerArgs: 'sh -c "sleep' }, /^dockerArgs: a quote is not closed/],
    [{ dockerArgs: 'a', dockerStartCmd: ['b'] }, /^Give dockerArgs or dockerStartCmd, not both/],
  ] as const) {
    for (const [method, path] of [
      ['POST', 'pods'],
      ['PATCH', `pods/${made.id}`],
    ] as const) {
      const { status, json } = await system.request(method, `/v1/${path}`, {
        ...(method === 'POST' ? { computeType: 'CPU', imageName: 'i' } : {}),
        ...body,
      });
      t.match({ status, json }, { status: 400, json: { code: 'invalid_request', message: text } });
    }
  }
  t.same((await rest('GET', `pods/${made.id}`)).dockerStartCmd, ['1200'], 'what was refused changed nothing');
  t.match(
    await refused(
      'mutation { podFindAndDeployOnDemand(input: { name: "x", imageName: "x", dockerArgs: "it\'s" }) { id } }',
    ),
    {
      reason: 'INVALID_REQUEST',
      message: /^dockerArgs: a quote is not closed/,
    },
  );
  await system.request('DELETE', `/v1/pods/${made.id}`);
});

t.test('runpodctl over REST v2 finds a place for a pod, and reads what it has made', async (t) => {
  const gpu = 'NVIDIA GeForce RTX 4090';
  const gpus = [{ uuid: 'GPU-a', name: gpu, memoryMib: 24_564, migProfile: '' }];
  await joinEngineMachine(t, system, { gpus, locations: ['EU-RO-1', 'RO'], cpuCount: 16, memoryMib: 65_536 });
  const v2 = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const { status, json } = await system.request(method, `/v2/${path}`, body);
    t.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json as T;
  };
  const stock = 'include=AVAILABILITY&product=POD';
  const { cpus } = await v2<{ cpus: { id: string; availability: string }[] }>(
    'GET',
    `catalog/cpus?${stock}&vcpuCount=2`,
  );
  const flavor = cpus.find(({ availability }) => availability !== 'NONE')!;
  t.ok(flavor, 'it tries the most available first');
  const { gpus: found } = await v2<{ gpus: { id: string; dataCenters: { id: string }[] }[] }>(
    'GET',
    `catalog/gpus?countryCodes=RO&${stock}`,
  );
  const dataCenterIds = found.find(({ id }) => id === gpu)!.dataCenters.map(({ id }) => id);
  t.same(dataCenterIds, ['EU-RO-1'], 'where --country-code RO means');
  t.match(await v2('GET', 'catalog/datacenters?compliance=GDPR'), { dataCenters: [] });

  const all = { name: 'box', image: 'me/box:1', cloud: 'SECURE', disk: 20, ports: ['22/tcp'], startSsh: true };
  const ofCpu = await v2<{ id: string }>('POST', 'pods', { ...all, cpu: { id: flavor.id, vcpuCount: 2 } });
  const ofGpu = await v2<{ id: string }>('POST', 'pods', {
    ...all,
    ...{ gpu: { id: gpu, count: 1 }, dataCenterIds, mounts: { persistent: { size: 20, path: '/workspace' } } },
  });
  const wrong = await system.request('POST', '/v2/pods', { ...all, cpu: { id: flavor.id, vcpuCount: 3 } });
  t.ok([400, 422].includes(wrong.status), 'it tries the next flavor after 400 only');
  const page = await v2<{ pods: { id: string }[]; pagination: object }>('GET', 'pods?limit=1000');
  t.match(page.pagination, { nextCursor: null, hasNextPage: false });
  const shown = { status: /^(PROVISIONING|STARTING)$/, createdAt: /Z$/, disk: 20, cost: Number, ports: ['22/tcp'] };
  t.match(
    page.pods.find(({ id }) => id === ofGpu.id),
    {
      ...{ ...shown, gpu: { id: gpu, count: 1, vcpuCount: 16, memory: 64 }, dataCenterId: 'EU-RO-1' },
      ...{ mounts: { persistent: { size: 20, path: '/workspace' } }, runtime: null },
    },
  );
  t.match(
    page.pods.find(({ id }) => id === ofCpu.id),
    { ...shown, cpu: { id: flavor.id, vcpuCount: 2, memory: Number }, runtime: null },
  );
  for (const { id } of [ofCpu, ofGpu]) t.equal((await system.request('DELETE', `/v2/pods/${id}`)).status, 204);
});
