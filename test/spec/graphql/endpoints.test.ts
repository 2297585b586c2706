// test: postgres, 10 s
/**
 * docs/reference/management.md#graphql-endpoints: every field of an endpoint over GraphQL, what belongs to it, and what
 * a long list costs in calls to core.
 */
import { pino } from 'pino';
import t from 'tap';
import { graphqlClient } from '../../facades/graphql/graphql-client.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

interface Saved {
  saveEndpoint: { id: string; templateId: string; version: number };
}

t.setTimeout(600_000);
t.test('GraphQL endpoints', async (t) => {
  const calls: string[] = [];
  // Core logs the end of every call; what it logs here is what a document cost.
  const logger = pino(
    { level: 'debug' },
    {
      write: (line: string) => {
        const { msg, method } = JSON.parse(line) as { msg: string; method?: string };
        if (msg === 'call ended') calls.push(method!.split('/').at(-1)!);
      },
    },
  );
  const system = await startSystem(t, { logger, agentEnv: { SLIPWAY_AGENT_LOCATIONS: 'CZ,EU-CZ-1' } });
  const { ok, post, refused } = graphqlClient(t, system.url, system.key);
  const save = async (input: object, selection = 'id templateId version'): Promise<Saved> =>
    ok<Saved>(`mutation Save($input: EndpointInput!) { saveEndpoint(input: $input) { ${selection} } }`, { input });
  const refusal = (input: object) =>
    refused('mutation Save($input: EndpointInput!) { saveEndpoint(input: $input) { id } }', { input });
  const { saveTemplate } = await ok<{ saveTemplate: { id: string } }>(
    'mutation { saveTemplate(input: { name: "tpl", imageName: "worker:1", dockerArgs: "true", ' +
      'isServerless: true }) { id } }',
  );
  const templateId = saveTemplate.id;
  const idle = { templateId, workersMax: 0, gpuIds: '' };

  await t.test('an endpoint with a template of its own', async (t) => {
    const template = {
      name: 'inline',
      imageName: 'worker:2',
      containerDiskInGb: 7,
      dockerArgs: 'run it',
      env: [{ key: 'A', value: '1' }],
    };
    const any = { workersMax: 0, gpuIds: '' };
    const selection =
      'id templateId template { name imageName containerDiskInGb dockerArgs env { key value } isServerless }';
    t.match(await save({ name: 'with template', ...any, template }, selection), {
      saveEndpoint: { template: { ...template, isServerless: true } },
    });
    t.equal((await refusal({ name: 'again', ...any, template })).reason, 'NAME_TAKEN');
    t.match((await refusal({ name: 'both', ...any, templateId, template })).message, /templateId or template/);
    const wrong = { ...any, name: 'wrong', idleTimeout: 0, workersMin: -1 };
    t.equal((await refusal({ ...wrong, template: { name: 'leftover', imageName: 'x' } })).reason, 'INVALID_REQUEST');
    const { podTemplates } = await ok<{ podTemplates: { name: string }[] }>('{ podTemplates { name } }');
    t.same(
      podTemplates.map(({ name }) => name),
      ['tpl', 'inline'],
      'a template whose endpoint was refused is gone',
    );
    const { saveEndpoint } = await save({ name: 'named for it', ...idle });
    t.match(
      await save({ id: saveEndpoint.id, template: { imageName: 'worker:3' } }, 'template { name imageName }'),
      {
        saveEndpoint: { template: { name: 'named for it', imageName: 'worker:3' } },
      },
      'without a name it gets the name of the endpoint',
    );
  });

  await t.test('workers without a GPU', async (t) => {
    const { saveEndpoint } = await save(
      { name: 'cpu', ...idle, instanceIds: ['cpu3c-2-4'], gpuCount: 1 },
      'id computeType gpuCount instanceIds',
    );
    t.match(saveEndpoint, { computeType: 'CPU', gpuCount: 0, instanceIds: ['cpu3c-2-4'] });
    t.match(await save({ id: saveEndpoint.id, name: 'cpu 2', instanceIds: ['cpu5c-4-8'] }, 'name computeType'), {
      saveEndpoint: { name: 'cpu 2', computeType: 'CPU' },
    });
    const { saveEndpoint: gpu } = await save({ name: 'gpu', ...idle, gpuIds: 'AMPERE_24' });
    t.match(
      (await refusal({ id: gpu.id, instanceIds: ['cpu3c-2-4'] })).message,
      /^computeType is fixed after creation/,
    );
  });

  await t.test('network volumes', async (t) => {
    const volume = async (name: string): Promise<string> =>
      (
        await ok<{ createNetworkVolume: { id: string } }>(
          `mutation { createNetworkVolume(input: { name: "${name}", size: 1, dataCenterId: "EU-CZ-1" }) { id } }`,
        )
      ).createNetworkVolume.id;
    const [first, second] = [await volume('one'), await volume('two')];
    const fields =
      'id networkVolumeId networkVolume { id dataCenterId name } networkVolumeIds { networkVolumeId dataCenterId }';
    const { saveEndpoint } = await save({ name: 'v', ...idle, networkVolumeId: first }, fields);
    t.match(saveEndpoint, {
      networkVolumeId: first,
      networkVolume: { id: first, dataCenterId: 'EU-CZ-1', name: 'one' },
    });
    t.match(await save({ id: saveEndpoint.id, networkVolumeIds: [{ networkVolumeId: second }] }, fields), {
      saveEndpoint: {
        networkVolumeId: second,
        networkVolumeIds: [{ networkVolumeId: second, dataCenterId: 'EU-CZ-1' }],
      },
    });
    t.match(await save({ id: saveEndpoint.id, networkVolumeId: '', networkVolumeIds: [] }, fields), {
      saveEndpoint: { networkVolumeId: null, networkVolume: null, networkVolumeIds: [] },
    });
    t.equal((await refusal({ name: 'x', ...idle, networkVolumeId: 'none' })).reason, 'INVALID_REQUEST');
  });

  await t.test('CUDA versions, time limits, FlashBoot by name', async (t) => {
    const fields = 'id allowedCudaVersions minCudaVersion executionTimeoutMs flashBootType name';
    const { saveEndpoint } = await save(
      { name: 'tool-fb', ...idle, minCudaVersion: '12.8', executionTimeoutMs: 0 },
      fields,
    );
    t.match(saveEndpoint, {
      allowedCudaVersions: '13.0,12.9,12.8',
      minCudaVersion: '12.8',
      executionTimeoutMs: 0,
      flashBootType: 'FLASHBOOT',
      name: 'tool-fb',
    });
    t.match(
      await save(
        { id: saveEndpoint.id, allowedCudaVersions: '12.4,12.5', minCudaVersion: '', executionTimeoutMs: 60_000 },
        fields,
      ),
      {
        saveEndpoint: { allowedCudaVersions: '12.4,12.5', minCudaVersion: '12.4', executionTimeoutMs: 60_000 },
      },
    );
    t.match(await save({ id: saveEndpoint.id, executionTimeoutMs: 0, name: 'tool', flashBootType: 'OFF' }, fields), {
      saveEndpoint: { executionTimeoutMs: 0, name: 'tool', flashBootType: 'OFF' },
    });
    t.match(await save({ id: saveEndpoint.id, flashBootType: 'PRIORITY_FLASHBOOT' }, fields), {
      saveEndpoint: { flashBootType: 'PRIORITY_FLASHBOOT' },
    });
  });

  await t.test('worker concurrency', async (t) => {
    const { saveEndpoint } = await save(
      { name: 'many', ...idle, workerConcurrency: 4 },
      'id workerConcurrency version',
    );
    t.match(saveEndpoint, { workerConcurrency: 4 });
    t.match(await save({ id: saveEndpoint.id, name: 'many more' }, 'workerConcurrency'), {
      saveEndpoint: { workerConcurrency: 4 },
    });
    t.match(await save({ id: saveEndpoint.id, workerConcurrency: 8 }, 'workerConcurrency version'), {
      saveEndpoint: { workerConcurrency: 8, version: saveEndpoint.version + 1 },
    });
    t.match((await refusal({ id: saveEndpoint.id, workerConcurrency: 101 })).message, /^workerConcurrency is 101/);
  });

  await t.test('the type is fixed, but may be repeated', async (t) => {
    const { saveEndpoint } = await save({ name: 'lb', ...idle, type: 'LB' }, 'id type');
    t.match(saveEndpoint, { type: 'LB' });
    t.match(await save({ id: saveEndpoint.id, type: 'LB', name: 'lb 2' }, 'type name'), {
      saveEndpoint: { type: 'LB', name: 'lb 2' },
    });
    t.match(await save({ id: saveEndpoint.id, type: 'LB' }, 'type name'), {
      saveEndpoint: { type: 'LB', name: 'lb 2' },
    });
    t.match(await refusal({ id: saveEndpoint.id, type: 'QB' }), { reason: 'INVALID_REQUEST', message: /type/ });
    t.match(
      await save({ id: saveEndpoint.id }, 'type name'),
      { saveEndpoint: { type: 'LB', name: 'lb 2' } },
      'nothing to change is no fault',
    );
    t.match(await refusal({ id: 'nosuch' }), { reason: 'ENDPOINT_NOT_FOUND' });
  });

  await t.test(
    'a new endpoint names its GPUs, itself and a template (docs/reference/management.md#graphql)',
    async (t) => {
      t.match(await refusal({ templateId, gpuIds: 'AMPERE_16' }), {
        reason: 'INVALID_REQUEST',
        message: /^name is required/,
      });
      t.match(await refusal({ templateId, name: 'x' }), { reason: 'INVALID_REQUEST', message: /^gpuIds is required/ });
      t.match(await refusal({ name: 'x', gpuIds: 'AMPERE_16' }), { reason: 'INVALID_REQUEST', message: /templateId/ });
    },
  );

  await t.test('null and invalid values change nothing', async (t) => {
    const fields = 'id version gpuIds allowedCudaVersions gpuCount env { key }';
    const { saveEndpoint } = await save(
      { ...idle, name: 'kept', gpuIds: 'AMPERE_80', allowedCudaVersions: '12.8' },
      fields,
    );
    const nulls = { gpuIds: null, allowedCudaVersions: null, name: null, idleTimeout: null, env: null, workersMax: 0 };
    t.match(await save({ id: saveEndpoint.id, ...nulls }, fields), { saveEndpoint });
    t.match(
      (await refusal({ id: saveEndpoint.id, env: [{ key: '__proto__', value: 'x' }] })).message,
      /^env: "__proto__" is not a name/,
    );
    t.match(
      (await refusal({ id: saveEndpoint.id, gpuIds: '', gpuCount: 0 })).message,
      /^gpuCount is 0, but must be at least 1/,
    );
    t.match(await save({ id: saveEndpoint.id }, fields), { saveEndpoint });
  });

  await t.test(
    'endpoints keep a template of another account that is no longer public, and can be changed',
    async (t) => {
      const { accountId } = await call(system.clients.access, 'createAccount', { name: 'publisher' }, system.rootKey);
      const owner = graphqlClient(t, system.url, await system.newKey(undefined, accountId));
      const shared = 'imageName: "worker:1", dockerArgs: "true", isServerless: true';
      const made = await owner.ok<{ saveTemplate: { id: string } }>(
        `mutation { saveTemplate(input: { name: "shared", ${shared}, isPublic: true }) { id } }`,
      );
      const publicId = made.saveTemplate.id;
      const input = { ...idle, name: 'on shared', templateId: publicId, gpuIds: 'AMPERE_16' };
      const { saveEndpoint } = await save(input, 'id template { name }');
      t.match(saveEndpoint, { template: { name: 'shared' } });
      await owner.ok(
        `mutation { saveTemplate(input: { id: "${publicId}", name: "shared", ${shared}, isPublic: false }) { id } }`,
      );
      t.match(
        await save(
          { ...input, id: saveEndpoint.id, workersMin: 0, idleTimeout: 7 },
          'idleTimeout version template { id }',
        ),
        {
          saveEndpoint: { idleTimeout: 7, version: 0, template: { id: publicId } },
        },
        'it shows what it was given',
      );
      t.match(
        (await refusal({ ...input, name: 'another' })).message,
        /there is no template/,
        'no new endpoint gets it',
      );
      t.ok(await ok('{ myself { endpoints { id template { id } } } }'), 'nor is it an error of a list');
      const rest = await system.request('GET', `/v1/endpoints/${saveEndpoint.id}?includeTemplate=true`);
      t.equal(rest.status, 200);
      t.match(rest.json['template'], { id: publicId, imageName: 'worker:1' });
      t.equal(
        (await system.request('PATCH', `/v1/endpoints/${saveEndpoint.id}`, { templateId: publicId, idleTimeout: 8 }))
          .status,
        200,
      );
      await ok(`mutation { deleteEndpoint(id: "${saveEndpoint.id}") }`);
    },
  );

  await t.test('fields of features that do not exist here are accepted only when empty', async (t) => {
    await save({
      name: 'empty',
      ...idle,
      modelReferences: [],
      hubReleaseId: null,
      flashEnvironmentId: '',
      workersPFBTarget: 0,
      workersStandby: 1,
    });
    t.match((await refusal({ name: 'x', ...idle, modelReferences: ['gpt2'] })).message, /^modelReferences: "gpt2"/);
    t.match((await refusal({ name: 'x', ...idle, hubReleaseId: 'r' })).message, /hubReleaseId/);
    t.match((await refusal({ name: 'x', ...idle, flashEnvironmentId: 'e' })).message, /flashEnvironmentId/);
    t.match((await refusal({ name: 'x', ...idle, type: 'QUEUE' })).message, /QB or LB/);
    t.match(
      await post({ query: `mutation { saveEndpoint(input: { name: "x", gpus: 1 }) { id } }` }),
      { status: 400 },
      'an unknown field',
    );
  });

  await t.test('documents of clients, as they send them', async (t) => {
    const command = `mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { id name templateId gpuIds instanceIds computeType
      networkVolumeId networkVolumeIds { networkVolumeId dataCenterId } locations idleTimeout scalerType scalerValue workersMin workersMax gpuCount
      minCudaVersion executionTimeoutMs flashBootType modelReferences } }`;
    const flash = `mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { aiKey gpuIds id idleTimeout locations name networkVolumeId
      networkVolumeIds { networkVolumeId dataCenterId } flashEnvironmentId scalerType scalerValue templateId type userId version workersMax workersMin
      workersStandby workersPFBTarget gpuCount allowedCudaVersions minCudaVersion executionTimeoutMs instanceIds activeBuildid idePodId flashBootType } }`;
    const { saveEndpoint } = await ok<Saved>(command, {
      input: { ...idle, name: 'ctl', gpuIds: 'ADA_24,-NVIDIA L4', workersMin: 0 },
    });
    t.match(await ok(flash, { input: { id: saveEndpoint.id, name: 'ctl', type: 'QB', workersMax: 0 } }), {
      saveEndpoint: {
        aiKey: null,
        userId: system.accountId,
        gpuIds: 'ADA_24,-NVIDIA L4',
        type: 'QB',
        version: 0,
        idePodId: null,
      },
    });
    const exists = 'query getEndpoint($id: String!) { myself { endpoint(id: $id) { id } } }';
    t.same(await ok(exists, saveEndpoint), { myself: { endpoint: { id: saveEndpoint.id } } });
    const update =
      'mutation Mutation($input: UpdateEndpointTemplateInput) { updateEndpointTemplate(input: ' +
      '$input) { id templateId } }';
    t.match(await ok(update, { input: { endpointId: saveEndpoint.id, templateId } }), {
      updateEndpointTemplate: { templateId },
    });
    const templates = `query PodTemplates($input: PodTemplateInput) { podTemplates(input: $input) { id name imageName isServerless isPublic isRunpod category
      containerDiskInGb volumeInGb volumeMountPath portsConfig { port name } startSsh startJupyter startScript advancedStart boundEndpointId config } }`;
    t.same(await ok(templates, { input: { isRunpod: true } }), { podTemplates: [] });
    const [own] = ((await ok(templates, { input: { isRunpod: false } })) as { podTemplates: object[] }).podTemplates;
    t.match(own, { id: templateId, isRunpod: false, portsConfig: [], boundEndpointId: null, config: null });
  });

  await t.test('workers are shown without their environment', async (t) => {
    const id = await system.createEndpoint({
      command: jsHandler('all.js'),
      env: { SECRET: 'hidden' },
      fields: { env: { MORE: 'hidden' } },
    });
    const query =
      'query E($id: String!) { endpoint(id: $id) { pods { id desiredStatus env endpointId name imageName } } ' +
      'myself { pods { id } } }';
    const found = await ok<{ endpoint: { pods: { id: string }[] } }>(query, { id });
    t.match(found, {
      endpoint: { pods: [{ desiredStatus: 'RUNNING', endpointId: id, env: [] }] },
      myself: { pods: [] },
    });
    const podId = found.endpoint.pods[0]!.id;
    const pod = await ok(
      'query P($podId: String!) { pod(input: { podId: $podId }) { id env desiredStatus endpointId } }',
      { podId },
    );
    t.same(pod, { pod: { id: podId, env: [], desiredStatus: 'RUNNING', endpointId: id } });
    t.equal(
      (await refused('mutation S($podId: String!) { podStop(input: { podId: $podId }) { id } }', { podId })).reason,
      'POD_FIXED',
    );
    const { myself } = await ok<{ myself: { endpoints: { id: string; pods: object[] }[] } }>(
      '{ myself { endpoints { id pods { desiredStatus } } } }',
    );
    t.same(myself.endpoints.find((endpoint) => endpoint.id === id)!.pods, [{ desiredStatus: 'RUNNING' }]);
  });

  await t.test('a long list needs as many calls as a short one', async (t) => {
    await Promise.all(Array.from({ length: 40 }, (_, n) => save({ name: `many ${n}`, ...idle })));
    calls.splice(0);
    const { myself } = await ok<{
      myself: { endpoints: { template: object }[] };
    }>(`{ myself { email pubKey currentSpendPerHr networkVolumes { id }
      endpoints { id template { name } pods { id } networkVolume { id } networkVolumeIds { dataCenterId } } } }`);
    t.ok(myself.endpoints.length > 40);
    t.ok(myself.endpoints.every(({ template }) => template));
    const reads = Map.groupBy(
      calls.filter((name) => /^(Get|List)/.test(name)),
      String,
    );
    const counted = Object.fromEntries([...reads].map(([name, all]) => [name, all.length]));
    t.same(counted, { ListEndpoints: 1, ListTemplates: 1, ListPods: 1, ListNetworkVolumes: 1, GetAccount: 1 });
  });

  await t.test('a field sees changes of earlier ones in its document', async (t) => {
    const query = `mutation M($id: String!, $templateId: String!) {
      before: saveEndpoint(input: { id: $id, idleTimeout: 6 }) { template { readme } }
      saveTemplate(input: { id: $templateId, readme: "new" }) { id }
      after: saveEndpoint(input: { id: $id, idleTimeout: 7 }) { template { readme } }
    }`;
    const { saveEndpoint } = await save({ name: 'order', ...idle });
    t.match(await ok(query, { id: saveEndpoint.id, templateId }), {
      before: { template: { readme: '' } },
      after: { template: { readme: 'new' } },
    });
  });
});
