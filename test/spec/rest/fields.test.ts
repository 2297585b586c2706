// test: postgres, 10 s
/**
 * Every field of the public documents (docs/reference/management.md#rest), by name: it is in the OpenAPI document, and
 * it is in a real answer of a real system; fields of requests are all sent together and taken.
 */
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { bodies, GPU } from './described-bodies.ts';
import { INPUTS, ONLY_DESCRIBED, QUERIES, RECORDS, words } from './described-fields.ts';

type Json = Record<string, unknown>;
interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  type?: string;
  default?: unknown;
}
interface Operation {
  parameters?: { name: string; in: string }[];
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const system = await startSystem(t, {
  agentEnv: { SLIPWAY_VIRTUAL_GPUS: `${GPU}:24576x3`, SLIPWAY_AGENT_LOCATIONS: 'RO,EU-RO-1' },
});
await call(system.clients.usage, 'setPrices', { prices: [{ item: GPU, usdPerHour: 2 }] }, system.rootKey);
const rest = async <Answer = Json>(method: string, path: string, body?: object): Promise<Answer> => {
  const { status, json, text } = await system.request(method, `/v1/${path}`, body);
  if (status !== 200 && status !== 201) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json as Answer;
};
const description = await rest<Description>('GET', 'openapi.json');

/** Returns a shape of the document; a name with dots leads into its members. */
function shapeOf(name: string): Schema {
  const [first, ...members] = name.split('.');
  const follow = (schema: Schema | undefined): Schema => {
    if (schema?.$ref === undefined) return schema?.items ? follow(schema.items) : (schema ?? {});
    return follow(description.components.schemas[schema.$ref.split('/').at(-1)!]);
  };
  return members.reduce(
    (shape, member) => follow(shape.properties?.[member]),
    follow(description.components.schemas[first!]),
  );
}

const id = async (path: string, body: object): Promise<string> => (await rest<{ id: string }>('POST', path, body)).id;
const auth = await id('containerregistryauth', { name: 'auth', username: 'u', password: 'p' });
const volume = await id('networkvolumes', { name: 'volume', size: 1, dataCenterId: 'EU-RO-1' });
const ofPods = await id('templates', { name: 'of pods', imageName: '', dockerStartCmd: ['true'] });
const serverless = await id('templates', {
  name: 'serverless',
  imageName: '',
  dockerStartCmd: jsHandler('all.js'),
  isServerless: true,
});
const BODIES = bodies({ auth, volume, ofPods, serverless });

t.setTimeout(600_000);
const made: Record<string, string> = {};
t.test('every field of a body is documented, and accepted together with all others', async (t) => {
  const paths: Record<string, string> = {
    Endpoint: 'endpoints',
    Pod: 'pods',
    Template: 'templates',
    NetworkVolume: 'networkvolumes',
    ContainerRegistryAuth: 'containerregistryauth',
  };
  for (const [name, fields] of Object.entries(INPUTS)) {
    const described = Object.keys(shapeOf(name).properties ?? {});
    t.same(
      words(fields).filter((field) => !described.includes(field)),
      [],
      `${name} in the document`,
    );
    t.same(
      words(fields).filter((field) => !(field in BODIES[name]!)),
      [],
      `${name} is sent whole`,
    );
    const [, thing, verb] = /^(\w+?)(Create|Update)Input$/.exec(name)!;
    if (verb === 'Create') made[thing!] = await id(paths[thing!]!, BODIES[name]!);
    else await rest('PATCH', `${paths[thing!]}/${made[thing!]}`, BODIES[name]!);
  }
});

t.test('every field of an answer is documented, and present', async (t) => {
  const worked = await id('endpoints', { templateId: serverless, gpuTypeIds: [GPU], workersMin: 1, workersMax: 1 });
  const sized = await id('pods', {
    computeType: 'CPU',
    cpuFlavorIds: ['cpu3c'],
    vcpuCount: 1,
    imageName: '',
    dockerStartCmd: ['sleep', '600'],
  });
  const workers = await waitFor('a worker', async () => {
    const { workers } = await rest<{ workers: Json[] }>('GET', `endpoints/${worked}?includeWorkers=true`);
    return workers.length > 0 && workers;
  });
  const include = 'includeMachine=true&includeNetworkVolume=true&includeSavingsPlans=true&includeTemplate=true';
  const pod = await rest<Record<string, Json>>('GET', `pods/${made['Pod']}?${include}`);
  const billed = ['endpointId', 'podId', 'gpuTypeId'].map((grouping) =>
    rest<Json[]>('GET', `billing/endpoints?grouping=${grouping}`),
  );
  const answers: Record<string, unknown[]> = {
    Endpoint: [await rest('GET', `endpoints/${made['Endpoint']}?includeTemplate=true&includeWorkers=true`)],
    Pod: [pod, await rest('GET', `pods/${sized}`), ...workers],
    'Pod.gpu': [pod['gpu']],
    'Pod.machine': [pod['machine']],
    'Pod.machine.gpuType': [pod['machine']!['gpuType']],
    'Pod.machine.cpuType': [pod['machine']!['cpuType']],
    Template: [await rest('GET', `templates/${made['Template']}`)],
    NetworkVolume: [await rest('GET', `networkvolumes/${volume}`)],
    ContainerRegistryAuth: [await rest('GET', `containerregistryauth/${auth}`)],
    BillingRecord: (await Promise.all(billed)).flat(),
    NetworkVolumeBillingRecord: await rest<Json[]>('GET', 'billing/networkvolumes'),
  };
  for (const [name, fields] of Object.entries({ ...RECORDS, ...ONLY_DESCRIBED })) {
    const described = Object.keys(shapeOf(name).properties ?? {});
    t.same(
      words(fields).filter((field) => !described.includes(field)),
      [],
      `${name} in the document`,
    );
    if (!(name in RECORDS)) continue;
    const answered = new Set(answers[name]!.flatMap((answer) => Object.keys(answer as Json)));
    t.same(
      words(fields).filter((field) => !answered.has(field)),
      [],
      `${name} in an answer`,
    );
    t.same(
      [...answered].filter((field) => !described.includes(field)),
      [],
      `${name} answers nothing that is not described`,
    );
  }
  t.match(pod['gpu'], { id: GPU, count: 1, displayName: 'L4', securePrice: 2, communityPrice: 2, oneWeekPrice: null });
  t.match(pod['machine'], {
    gpuTypeId: GPU,
    gpuDisplayName: 'L4',
    gpuType: { id: GPU, displayName: 'L4', count: 3, securePrice: 2 },
    currentPricePerGpu: 2,
    costPerHr: 2,
    minPodGpuCount: 1,
    cpuType: { displayName: /./ },
    maintenanceNote: null,
  });
  t.match(await rest('GET', `pods/${sized}`), { cpuFlavorId: 'cpu3c', vcpuCount: 1, memoryInGb: 2 });
  t.match(await rest('GET', 'pods?cpuFlavorId=cpu3c'), [{ id: sized }]);
});

t.test('every query parameter is documented', async (t) => {
  for (const [path, names] of Object.entries(QUERIES)) {
    const described = (description.paths[path]!['get']!.parameters ?? [])
      .filter((parameter) => parameter.in === 'query')
      .map(({ name }) => name);
    t.same(described.sort(), words(names).sort(), path);
  }
});

t.test('ignored fields of a body are named in a header and have no effect', async (t) => {
  const bound = await rest('POST', 'endpoints', { name: 'ignores', templateId: serverless, workersMax: 0 });
  const pathOf: Record<string, string> = {
    EndpointUpdateInput: `endpoints/${bound['id'] as string}`,
    TemplateUpdateInput: `templates/${ofPods}`,
    NetworkVolumeUpdateInput: `networkvolumes/${volume}`,
    TemplateCreateInput: 'templates',
    NetworkVolumeCreateInput: 'networkvolumes',
    ContainerRegistryAuthCreateInput: 'containerregistryauth',
    EndpointCreateInput: 'endpoints',
  };
  const creates: Record<string, Json> = {
    TemplateCreateInput: { name: 'ignores', imageName: 'image' },
    NetworkVolumeCreateInput: { name: 'ignores', size: 1, dataCenterId: 'EU-RO-1' },
    ContainerRegistryAuthCreateInput: { name: 'ignores', username: 'u', password: 'p' },
    EndpointCreateInput: { templateId: serverless, workersMax: 0 },
  };
  for (const [shape, path] of Object.entries(pathOf)) {
    const body = { workersMaxx: 1, 'a\r\nb: ü': 2, ...creates[shape], notGiven: null };
    for (const form of shape.endsWith('CreateInput') ? ['POST'] : ['PATCH', 'POST']) {
      const { status, headers, text } = await system.request(
        form,
        `/v1/${path}${form === 'POST' && !(shape in creates) ? '/update' : ''}`,
        body,
      );
      t.equal(status, 200, `${form} of ${shape}: ${text}`);
      t.equal(headers.get('x-slipway-ignored'), 'workersMaxx, a??b???');
    }
  }
  const sizes = { templateId: serverless, workersMax: 0, vcpuCount: 4, cpuFlavorIds: ['cpu3c'] };
  const ignoredOf = async (body: object) =>
    (await system.request('POST', '/v1/endpoints', body)).headers.get('x-slipway-ignored');
  t.equal(await ignoredOf(sizes), 'vcpuCount, cpuFlavorIds', 'sizes of what has GPUs');
  t.equal(await ignoredOf({ ...sizes, computeType: 'CPU' }), null);
  const update = `/v1/templates/${ofPods}`;
  t.equal(
    (await system.request('PATCH', update, { readme: 'x' })).headers.get('x-slipway-ignored'),
    null,
    'nothing to name',
  );
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}_`.padEnd(500, 'n'), 1]));
  const named = (await system.request('PATCH', update, many)).headers.get('x-slipway-ignored')!;
  t.equal(named.split(', ').length, 20);
  t.ok(named.length <= 1024, `${named.length} characters`);
});

t.test('the header is documented on each operation that has a body', async (t) => {
  const bodied = Object.entries(description.paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({
        name: `${method} ${path}`,
        operation: operation as { requestBody?: object; responses: Record<string, { headers?: object }> },
      })),
    )
    .filter(({ operation }) => operation.requestBody !== undefined);
  t.ok(bodied.length >= 13, `${bodied.length} operations`);
  for (const {
    name,
    operation: { responses },
  } of bodied) {
    t.same(Object.keys((responses['200'] ?? responses['201'])!.headers ?? {}), ['x-slipway-ignored'], name);
  }
});
