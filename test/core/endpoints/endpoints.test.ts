// test: postgres, 10 s
/** Endpoints over gRPC: defaults, bounds, update masks, versions, errors, deletion. */
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import {
  Endpoint,
  EndpointType,
  FlashBootStandby,
  FlashBootType,
  ScalerType,
} from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { BAD } from './bad-endpoint-fields.ts';

t.setTimeout(600_000);

t.test('defaults', async (t) => {
  const core = await startReplicas(t);
  const templateId = await core.createTemplate({ name: 'my template' });
  const { endpoint } = await call(
    core.clients.endpoints,
    'createEndpoint',
    { endpoint: Endpoint.fromPartial({ templateId }), requestId: '' },
    core.key,
  );
  t.match(endpoint, {
    id: /^[a-z0-9]{14}$/,
    name: 'my template',
    templateId,
    type: EndpointType.QB,
    gpuIds: [],
    gpuCount: 1,
    instanceIds: [],
    workersMin: 0,
    workersMax: 3,
    idleTimeoutSeconds: 5,
    scalerType: ScalerType.QUEUE_DELAY,
    scalerValue: 4,
    executionTimeoutMs: 600_000,
    flashBootType: FlashBootType.OFF,
    locations: [],
    env: {},
    retryLimit: 2,
    retryHandlerErrors: false,
    durableBeforeRun: false,
    workerConcurrency: 1,
    modelAliases: [],
    modelWeight: 1,
    modelQueueMax: 0,
    exampleInput: '',
    modelReferences: [],
    version: 0,
    computeType: 'GPU',
    webhookSecret: '',
  });
  t.ok(endpoint!.createTime instanceof Date);
  const { template } = await call(core.clients.templates, 'getTemplate', { id: templateId }, core.key);
  t.match(template, {
    id: /^[a-z0-9]{10}$/,
    containerDiskGb: 50,
    volumeGb: 0,
    volumeMountPath: '/workspace',
    category: 'NVIDIA',
  });
});

t.test('bad fields', async (t) => {
  const core = await startReplicas(t);
  const templateId = await core.createTemplate();
  for (const [what, fields, why] of BAD) {
    const endpoint = Endpoint.fromPartial({ name: 'n', templateId, ...fields });
    const reason = await reasonOf(
      call(
        core.clients.endpoints,
        'createEndpoint',
        { endpoint, requestId: '', retryLimit: fields.retryLimit },
        core.key,
      ),
    );
    t.match(reason, /^INVALID_REQUEST: /, what);
    t.match(reason, why, what);
  }
  t.match(
    await reasonOf(call(core.clients.endpoints, 'createEndpoint', { endpoint: undefined, requestId: '' }, core.key)),
    /endpoint is required/,
  );
  t.equal((await core.sql`SELECT FROM endpoint`).length, 0, 'nothing was stored');
});

t.test('the level of standby follows FlashBoot', async (t) => {
  const core = await startReplicas(t);
  const templateId = await core.createTemplate();
  const flash = { flashBootType: FlashBootType.FLASHBOOT, flashBootStandby: FlashBootStandby.HOST };
  const id = await core.createEndpoint({ templateId, workersMin: 0, ...flash });
  const update = (fields: Partial<Endpoint>, ...updateMask: string[]) =>
    call(
      core.clients.endpoints,
      'updateEndpoint',
      { endpoint: Endpoint.fromPartial({ id, ...fields }), updateMask },
      core.key,
    );
  const off = { flashBootType: FlashBootType.OFF, flashBootStandby: FlashBootStandby.HOST };
  t.match(
    await reasonOf(update(off, 'flash_boot_type', 'flash_boot_standby')),
    /flash_boot_standby is HOST, but without/,
  );
  t.match((await update(off, 'flash_boot_type')).endpoint, { flashBootStandby: FlashBootStandby.AUTO });
  t.match(await reasonOf(update(off, 'flash_boot_standby')), /flash_boot_standby is HOST, but without FlashBoot/);
  t.match((await update(flash, 'flash_boot_type', 'flash_boot_standby')).endpoint, flash);
  await core.sql`UPDATE endpoint SET flash_boot_type = 'OFF' WHERE id = ${id}`;
  t.match((await update({ name: 'n' }, 'name')).endpoint, { name: 'n' }, 'one of an earlier release can be changed');
});

t.test('where workers of a load-balancing endpoint serve: the variables of both, when they are set', async (t) => {
  const core = await startReplicas(t);
  const [bad, good] = [
    await core.createTemplate({ name: 'bad', env: { PORT: 'http' } }),
    await core.createTemplate({ name: 'good', env: { PORT: '8000' } }),
  ];
  const refused = /^INVALID_REQUEST: env: PORT must be a port.*the template's env counts too/;
  const create = (fields: Partial<Endpoint>) =>
    call(
      core.clients.endpoints,
      'createEndpoint',
      {
        endpoint: Endpoint.fromPartial({ name: 'n', ...fields }),
        requestId: '',
        workersMax: 0,
        retryLimit: undefined,
      },
      core.key,
    );
  t.ok((await create({ templateId: bad })).endpoint, 'of a queue-based one they mean what its handler likes');
  t.match(await reasonOf(create({ templateId: bad, type: EndpointType.LB })), refused);
  t.ok((await create({ templateId: bad, type: EndpointType.LB, env: { PORT: '1' } })).endpoint, 'its own count more');
  const { id } = (
    await create({ templateId: good, type: EndpointType.LB, env: { HEALTH_CHECK_PATH: 'ping', PORT_HEALTH: '' } })
  ).endpoint!;
  t.match(await reasonOf(core.updateEndpoint(id, { env: { PORT: '0' } })), refused);
  t.match(await reasonOf(core.updateEndpoint(id, { templateId: bad })), refused);
  await core.sql`UPDATE template SET env = '{"PORT":"http"}', env_sealed = NULL WHERE id = ${good}`;
  t.match(
    (await core.updateEndpoint(id, { name: 'new' })).endpoint,
    { name: 'new' },
    'what was there before hinders no other change',
  );
});

t.test('edges that are allowed', async (t) => {
  const core = await startReplicas(t);
  for (const fields of [
    { name: 'x'.repeat(191) },
    { name: '😀'.repeat(191) },
    { gpuIds: ['AMPERE_24', '-NVIDIA L4'] },
    { gpuIds: ['-NVIDIA L4'], gpuCount: 1 },
    { gpuIds: ['NVIDIA  A30'] },
    { gpuCount: 2 },
    { idleTimeoutSeconds: 1 },
    { idleTimeoutSeconds: 3_600 },
    { executionTimeoutMs: 5_000 },
    { executionTimeoutMs: 604_800_000 },
    { retryLimit: 0 },
    { retryLimit: 10 },
    { workersMax: 0, workersMin: 0 },
    { modelAliases: ['gpt-4o', 'meta-llama/Llama-3.1-8B'], modelWeight: 0, modelQueueMax: 1_000_000 },
    { modelWeight: 1_000 },
    { exampleInput: '{"prompt":"hello"}' },
    { type: EndpointType.LB, exampleInput: '{"method":"POST","path":"/chat?a=1","body":[1]}' },
    { modelReferences: Array.from({ length: 10 }, (_, i) => `org/m${i}`) },
    { locations: ['EU-CZ-1', 'my cellar'] },
    { allowedCudaVersions: ['12.8'] },
    { computeType: 'CPU' },
    { computeType: 'CPU', gpuCount: 0, instanceIds: ['cpu3c-1-2', 'cpu5m-1024-99999', 'cpu12x-2-1'] },
  ] satisfies Partial<Endpoint>[]) {
    const id = await core.createEndpoint(fields);
    const { endpoint } = await call(core.clients.endpoints, 'getEndpoint', { id }, core.key);
    t.match(endpoint, fields, JSON.stringify(fields));
  }
});

t.test('an endpoint with GPUs always has at least one for a worker', async (t) => {
  const core = await startReplicas(t);
  const id = await core.createEndpoint({ gpuCount: 0 });
  t.equal((await call(core.clients.endpoints, 'getEndpoint', { id }, core.key)).endpoint!.gpuCount, 1, 'the default');
  t.match(
    await reasonOf(core.updateEndpoint(id, { gpuCount: 0 })),
    /^INVALID_REQUEST: gpu_count is 0, but must be at least 1/,
  );
  await core.sql`UPDATE endpoint SET gpu_count = 0 WHERE id = ${id}`;
  await core.updateEndpoint(id, { name: 'of an older version' });
  t.equal((await call(core.clients.endpoints, 'getEndpoint', { id }, core.key)).endpoint!.gpuCount, 1);
});

t.test('endpoints run serverless templates only', async (t) => {
  const core = await startReplicas(t);
  const why =
    /^INVALID_REQUEST: template_id: "[a-z0-9]{10}" is a template for pods, .* create_template with is_serverless true and name that/;
  const ofPods = await core.createTemplate({ serverless: false });
  t.match(await reasonOf(core.createEndpoint({ templateId: ofPods })), why);
  const id = await core.createEndpoint();
  t.match(await reasonOf(core.updateEndpoint(id, { templateId: ofPods })), why);
  t.equal(
    (await call(core.clients.endpoints, 'getEndpoint', { id }, core.key)).endpoint!.version,
    0,
    'nothing changed',
  );
});

t.test('updates touch what the mask names', async (t) => {
  const core = await startReplicas(t);
  const id = await core.createEndpoint({ gpuIds: ['AMPERE_24'], webhookSecret: 'sesame', env: { A: '1' } });
  const before = (await call(core.clients.endpoints, 'getEndpoint', { id }, core.key)).endpoint!;
  t.equal(before.webhookSecret, '', 'never shown');
  const sealed = async () =>
    (await core.sql`SELECT webhook_secret_sealed AS s FROM endpoint WHERE id = ${id}`)[0]!.s as Buffer | null;
  t.ok(await sealed());
  t.notMatch((await sealed())!.toString('latin1'), 'sesame');
  const after = (await core.updateEndpoint(id, { workersMin: 0, workersMax: 7, scalerType: ScalerType.REQUEST_COUNT }))
    .endpoint!;
  t.equal(before.cannotRunReason, 'no machine has joined');
  t.same(after, { ...before, workersMin: 0, workersMax: 7, scalerType: ScalerType.REQUEST_COUNT }, 'and nothing else');
  const versions: [Partial<Endpoint>, number][] = [
    [{ name: 'b' }, 0],
    [{ env: { A: '1' } }, 0],
    [{ env: { A: '2' } }, 1],
    [{ gpuIds: ['ADA_24'] }, 2],
    [{ gpuCount: 2 }, 3],
    [{ templateId: await core.createTemplate() }, 4],
    [{ networkVolumeIds: [await core.createVolume('EU-CZ-1')] }, 5],
    [{ retryLimit: 0 }, 5],
    [{ modelAliases: ['a'], modelWeight: 0, modelQueueMax: 1 }, 5],
    [{ exampleInput: '{}' }, 5],
    [{ webhookSecret: '' }, 5],
    [{ modelReferences: ['org/m'] }, 6],
    [{ modelReferences: ['https://huggingface.co/org/m:main'] }, 6],
  ];
  for (const [fields, version] of versions)
    t.equal((await core.updateEndpoint(id, fields)).endpoint!.version, version, JSON.stringify(fields));
  t.equal(await sealed(), null);
  t.match(await reasonOf(core.updateEndpoint(id, {})), /update_mask is empty/);
  t.match(
    (await core.updateEndpoint(id, { name: 'c', type: EndpointType.QB, computeType: 'GPU' })).endpoint,
    { name: 'c', version: 6 },
    'the same type',
  );
  t.match(
    await reasonOf(core.updateEndpoint(id, { type: EndpointType.LB })),
    /^INVALID_REQUEST: type is fixed after creation and is "QB" here/,
  );
  t.match(await reasonOf(core.updateEndpoint(id, { computeType: 'CPU' })), /^INVALID_REQUEST: compute_type is fixed/);
  t.match(await reasonOf(core.updateEndpoint(id, { version: 9 })), /^INVALID_REQUEST: version cannot be changed$/);
  const odd = { endpoint: Endpoint.fromPartial({ id }), updateMask: ['constructor'] };
  t.match(
    await reasonOf(call(core.clients.endpoints, 'updateEndpoint', odd, core.key)),
    /"constructor" is no field; allowed are name, /,
  );
  t.match(await reasonOf(core.updateEndpoint(id, { workersMax: 1, workersMin: 2 })), /workers_min is 2/);
  t.match(await reasonOf(core.updateEndpoint('nosuch', { name: 'x' })), /^ENDPOINT_NOT_FOUND/);
});

t.test('a deletion survives a deadlock with another transaction', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ onAssignment: () => undefined });
  const id = await core.createEndpoint({ workersMin: 0 });
  await core.submit(id);
  await waitFor('its worker to be busy', () => agent.assignments.length === 1);
  await core.updateEndpoint(id, { workersMax: 0 });
  await waitFor('it to go', () => agent.desired[0]?.desired === DesiredState.DRAIN);
  const deleted = await core.sql.begin(async (sql) => {
    await sql`SELECT FROM worker WHERE endpoint_id = ${id} FOR UPDATE`;
    const deletion = call(core.clients.endpoints, 'deleteEndpoint', { id }, core.key).then(
      () => 'deleted',
      (error: unknown) => String(error),
    );
    const waits = () => core.sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query ~ '^delete from "endpoint"'`;
    await waitFor('it to wait for the worker', async () => (await waits()).length > 0);
    await sql`SELECT FROM endpoint WHERE id = ${id} FOR UPDATE`;
    return { deletion };
  });
  t.equal(await deleted.deletion, 'deleted');
  t.match(await reasonOf(call(core.clients.endpoints, 'getEndpoint', { id }, core.key)), /^ENDPOINT_NOT_FOUND/);
});
