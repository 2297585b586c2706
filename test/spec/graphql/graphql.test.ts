// test: postgres, 10 s
/** docs/reference/management.md#graphql: the GraphQL API, through the real mesh, against a real core. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

interface GraphqlAnswer {
  status: number;
  body: {
    data?: Record<string, never> | null;
    errors?: { message: string; path?: string[]; extensions: { code: string; reason?: string } }[];
  };
}

t.test('GraphQL', async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const post = async (body: unknown, { key = system.key, header = false } = {}): Promise<GraphqlAnswer> => {
    const url = `${system.url}/graphql${header ? '' : `?api_key=${key}`}`;
    const headers = { 'content-type': 'application/json', ...(header ? { authorization: `Bearer ${key}` } : {}) };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as GraphqlAnswer['body'] };
  };
  const ok = async (query: string, variables?: object): Promise<Record<string, unknown>> => {
    const { status, body } = await post({ query, variables });
    t.equal(status, 200, JSON.stringify(body));
    t.notOk('errors' in body, 'no errors key on success');
    return body.data as Record<string, unknown>;
  };
  const saved =
    await ok(`mutation { saveTemplate(input: { name: "tpl", imageName: "worker:1", dockerArgs: "python -u 'my handler.py'",
    containerDiskInGb: 5,
    volumeInGb: 0, env: [{ key: "A", value: "1" }], isServerless: true }) { id name dockerArgs env { key value } } }`);
  const template = saved['saveTemplate'] as { id: string; dockerArgs: string };
  t.equal(template.dockerArgs, `python -u 'my handler.py'`);

  await t.test('a client that sends every field it read changes a template', async (t) => {
    const input = {
      id: template.id,
      name: 'tpl',
      imageName: 'worker:2',
      dockerArgs: '',
      containerDiskInGb: 5,
      volumeInGb: 0,
      env: [],
      isServerless: true,
    };
    const change = 'mutation($input: SaveTemplateInput) { saveTemplate(input: $input) { id imageName isServerless } }';
    t.same(await ok(change, { input }), {
      saveTemplate: { id: template.id, imageName: 'worker:2', isServerless: true },
    });
    t.match((await post({ query: change, variables: { input: { ...input, isServerless: false } } })).body.errors, [
      { message: 'isServerless is fixed after creation and is true here' },
    ]);
    await ok(change, { input: { ...input, imageName: 'worker:1' } });
  });

  const create = `mutation { saveEndpoint(input: { gpuIds: "AMPERE_16", idleTimeout: 5, locations: "US", name: "Generated Endpoint -fb",
    flashBootType: FLASHBOOT,
    networkVolumeId: "", scalerType: "QUEUE_DELAY", scalerValue: 4, templateId: "${template.id}", workersMax: 3, workersMin: 1 })
    { gpuIds id idleTimeout locations flashBootType name scalerType scalerValue templateId type workersMax workersMin networkVolumeId } }`;
  const made = (await ok(create))['saveEndpoint'] as Record<string, unknown> & { id: string };

  await t.test('create: the selected fields come back, type defaults to QB', async (t) => {
    t.match(made.id, /^[a-z0-9]{14}$/);
    t.match(made, {
      gpuIds: 'AMPERE_16',
      idleTimeout: 5,
      locations: 'US',
      flashBootType: 'FLASHBOOT',
      name: 'Generated Endpoint -fb',
      scalerType: 'QUEUE_DELAY',
      scalerValue: 4,
      templateId: template.id,
      type: 'QB',
      workersMax: 3,
      workersMin: 1,
      networkVolumeId: null,
    });
  });

  await t.test('modify: omitted fields stay', async () => {
    const query = `mutation { saveEndpoint(input: { id: "${made.id}", gpuIds: "AMPERE_16", name: "renamed", templateId: "${template.id}",
      workersMax: 0, workersMin: 0 })
      { id name workersMin workersMax idleTimeout locations flashBootType } }`;
    t.match((await ok(query))['saveEndpoint'], {
      id: made.id,
      name: 'renamed',
      workersMin: 0,
      workersMax: 0,
      idleTimeout: 5,
      locations: 'US',
      flashBootType: 'FLASHBOOT',
    });
    await ok(`mutation { saveEndpoint(input: { id: "${made.id}", workersMax: 2 }) { id } }`);
  });

  await t.test('list: endpoints with pods, and serverlessDiscount is null', async (t) => {
    const query = `query Endpoints { myself { endpoints { gpuIds id idleTimeout locations name networkVolumeId pods { desiredStatus } scalerType
      scalerValue templateId
      workersMax workersMin template { imageName } } serverlessDiscount { discountFactor type expirationDate } } }`;
    const { myself } = (await ok(query)) as unknown as { myself: { endpoints: object[]; serverlessDiscount: unknown } };
    t.equal(myself.serverlessDiscount, null);
    t.match(myself.endpoints, [{ id: made.id, workersMax: 2, pods: [], template: { imageName: 'worker:1' } }]);
  });

  await t.test(
    'fields are answered in the order in which they were asked for, also once the document is compiled',
    async (t) => {
      for (let run = 0; run < 4; run += 1) {
        const data = await ok(
          '{ myself { pods { id } email endpoints { id pods { id } name } id } serverlessGpuPools { id } ' +
            'dataCenters { id } }',
        );
        t.same(Object.keys(data), ['myself', 'serverlessGpuPools', 'dataCenters']);
        const { endpoints, ...myself } = data['myself'] as Record<string, object[]>;
        t.same(Object.keys(myself), ['pods', 'email', 'id']);
        t.same(Object.keys(endpoints![0]!), ['id', 'pods', 'name']);
      }
    },
  );

  await t.test('variables, operationName and the bearer header', async (t) => {
    const query = `mutation Save($input: EndpointInput!) { saveEndpoint(input: $input) { id name flashBootType } }
      query Other { myself { endpoints { id } } }`;
    const variables = { input: { id: made.id, name: 'by variable', flashBootType: 'OFF' } };
    const { status, body } = await post({ query, variables, operationName: 'Save' }, { header: true });
    t.equal(status, 200);
    t.same(body.data, { saveEndpoint: { id: made.id, name: 'by variable', flashBootType: 'OFF' } });
  });

  await t.test('delete needs both worker counts at 0 and then answers null', async (t) => {
    const query = `mutation { deleteEndpoint(id: "${made.id}") }`;
    const refused = await post({ query });
    t.equal(refused.status, 200);
    t.match(refused.body, {
      data: { deleteEndpoint: null },
      errors: [{ path: ['deleteEndpoint'], extensions: { code: 'RUNPOD', reason: 'WORKERS_NOT_ZERO' } }],
    });
    const [, fields, call] = /^(workersMin and workersMax) .* first send (mutation .*)\.$/.exec(
      refused.body.errors![0]!.message,
    )!;
    t.ok(fields, 'the fields are named');
    await ok(call!);
    t.same(await ok(query), { deleteEndpoint: null });
    t.same(await ok(`{ endpoint(id: "${made.id}") { id } }`), { endpoint: null });
  });

  await t.test('updateEndpointTemplate and deleteTemplate', async (t) => {
    const { saveEndpoint } =
      (await ok(`mutation { saveEndpoint(input: { name: "e", templateId: "${template.id}", gpuIds: "ADA_24",
      workersMax: 0 }) { id } }`)) as unknown as { saveEndpoint: { id: string } };
    const { saveTemplate } = (await ok(`mutation { saveTemplate(input: { name: "second", imageName: "x",
      dockerArgs: "", isServerless: true }) { id } }`)) as unknown as { saveTemplate: { id: string } };
    const moved = await ok(`mutation { updateEndpointTemplate(input: { endpointId: "${saveEndpoint.id}",
      templateId: "${saveTemplate.id}" }) { id templateId version } }`);
    t.match(moved, { updateEndpointTemplate: { templateId: saveTemplate.id, version: 1 } });
    const { saveTemplate: ofPods } = (await ok(
      'mutation { saveTemplate(input: { name: "pods", imageName: "x", dockerArgs: "" }) { id } }',
    )) as unknown as { saveTemplate: { id: string } };
    const refused = await post({
      query: `mutation { saveEndpoint(input: { id: "${saveEndpoint.id}", templateId: "${ofPods.id}" }) { id } }`,
    });
    t.match(refused.body.errors, [
      {
        message:
          `templateId: "${ofPods.id}" is a template for pods, and that is fixed; endpoints run serverless ones: ` +
          'make one by saveTemplate with isServerless true and name that',
      },
    ]);
    t.match((await post({ query: 'mutation { deleteTemplate(templateName: "second") }' })).body.errors, [
      { extensions: { reason: 'IN_USE' } },
    ]);
    t.same(await ok('mutation { deleteTemplate(templateName: "tpl") }'), { deleteTemplate: null });
  });

  await t.test('invalid documents are rejected', async (t) => {
    t.equal((await post({ query: '{ myself { endpoints { id } } }' }, { key: 'nope' })).status, 401);
    t.equal((await post({ query: '{ __typename }' }, { key: 'nope' })).status, 401, 'a bad key learns nothing');
    const reader = await system.newKey(KeyScope.READ_ONLY);
    t.equal((await post({ query: '{ myself { endpoints { id } } }' }, { key: reader })).status, 200);
    t.equal((await post({ query: create }, { key: reader })).status, 401, 'a key without permission');
    t.equal(
      (await post({ query: create.replace('FLASHBOOT,', '"FLASHBOATS",') })).status,
      400,
      'a word that no enum has, in quotes too',
    );
    t.equal((await post({ query: '{ myself {' })).status, 400, 'syntax');
    t.equal((await post({ query: '{ nothing }' })).status, 400, 'unknown field');
    t.equal(
      (
        await post({
          query: 'mutation { slipway_v1_EndpointService_DeleteEndpoint(input: { id: "x" }) { __typename } }',
        })
      ).status,
      400,
      'raw calls are not public',
    );
    t.equal((await post({})).status, 400);
    t.equal((await post([1])).status, 400);
    t.match(
      (await post({ query: 'mutation { saveEndpoint(input: { name: "x", gpuIds: "AMPERE_16" }) { id } }' })).body
        .errors,
      [{ message: /^templateId is required/ }],
    );
    t.match(
      (await post({ query: `mutation { saveEndpoint(input: { name: "x", gpuIds: "", templateId: "nope" }) { id } }` }))
        .body.errors,
      [{ extensions: { code: 'RUNPOD' } }],
    );
    t.match(
      (
        await post({
          query: `mutation { saveEndpoint(input: { name: "x", gpuIds: "AMPERE_16", templateId: "x",
      scalerType: "BOTH" }) { id } }`,
        })
      ).body.errors,
      [{ message: /scalerType/ }],
    );
    const foreign: [query: string, text: RegExp][] = [
      ['query($input: ListingsInput!) { listings(input: $input) { id title } }', /^listings: there is no hub here/],
      ['{ myModels { name } }', /^myModels: there is no repository of models here/],
      [
        'mutation($input: CreateFlashAppInput!) { createFlashApp(input: $input) { id } }',
        /^createFlashApp: flash apps, .* do not exist here/,
      ],
      ['{ myself { id flashApps { id flashBuilds { id } } } }', /^flashApps: flash apps/],
    ];
    for (const [query, message] of foreign) {
      const { status, body } = await post({ query, variables: { input: {} } });
      t.equal(status, 200, query);
      t.match(
        body,
        { errors: [{ message, extensions: { code: 'RUNPOD' } }] },
        'a sentence, instead of a type that is unknown',
      );
      t.same(Object.values(body.data!), [null]);
    }
    const aliases = Array.from({ length: 30 }, (_, i) => `a${i}: myself { serverlessDiscount { type } }`).join(' ');
    t.equal((await post({ query: `{ ${aliases} }` })).status, 400, 'aliases are bounded');
    const deep = `{ myself { endpoints { ${'... on Endpoint { '.repeat(30)} id ${'}'.repeat(30)} } } }`;
    t.equal((await post({ query: deep })).status, 400, 'depth is bounded');
  });

  await t.test('fields that belong to no account need no key', async (t) => {
    const ask = async (body: unknown): Promise<GraphqlAnswer> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${system.url}/graphql`, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as GraphqlAnswer['body'] };
    };
    const query =
      '{ gpuTypes { id lowestPrice { stockStatus } } serverlessGpuPools { id } dataCenters { id } ' +
      'cpuFlavors(input: { isSls: true }) { id } }';
    t.match(await ask({ query }), { status: 200, body: { data: { gpuTypes: [{ id: String }], cpuFlavors: [] } } });
    const foreign = await ask({ query: '{ allAiApiPublicConfigs { id aiApiId } }' });
    t.match(foreign, { status: 200, body: { errors: [{ message: /there are no public endpoints here/ }] } });
    const fragment = '{ ...Q } fragment Q on Query { gpuTypes { id } }';
    for (const closed of [
      '{ myself { id } }',
      '{ gpuTypes { id } myself { id } }',
      'mutation { gpuTypes { id } }',
      '{ nothing }',
      fragment,
      '{',
    ]) {
      t.equal((await ask({ query: closed })).status, 401, closed);
    }
    t.equal((await ask({})).status, 401);
    t.equal((await ask({ query: `${query} ${'#'.repeat(20_000)}` })).status, 401, 'and no more than a small body');
    const statuses = new Set<number>();
    for (let asked = 0; asked < 60; asked += 1) statuses.add((await ask({ query: '{ cpuFlavors { id } }' })).status);
    t.same([...statuses].sort(), [200, 429], 'and not without end');
  });

  await t.test('a core that is down is an error, never empty data', async (t) => {
    const query = '{ myself { id endpoints { id } } }';
    // A document that comes again and again is compiled; it must fail in the same way.
    for (let run = 0; run < 4; run += 1) t.equal((await post({ query })).status, 200);
    await system.cores[0]!.stop();
    const down = await waitFor('an answer without core', () => post({ query }), 30_000);
    t.ok(down.body.errors, JSON.stringify(down));
    t.equal(down.body.data ?? null, null);
    t.match(down.body.errors![0]!.message, /not reachable right now; try again/);
  });
});
