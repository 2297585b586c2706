// test: postgres
/** ModelService over gRPC: which endpoints a model's name selects, for which key, and the list of models. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { ModelState } from '@slipway/proto/gen/slipway/v1/model_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(60_000);

const core = await startReplicas(t);
const idle = { workersMin: 0 };
const templateId = await core.createTemplate({ env: { MODEL_NAME: 'meta-llama/Llama', HF_TOKEN: 'secret' } });
const large = await core.createEndpoint({
  ...idle,
  name: 'large',
  templateId,
  modelAliases: ['gpt-4o'],
  modelWeight: 3,
});
const small = await core.createEndpoint({
  ...idle,
  name: 'small',
  modelAliases: ['gpt-4o', 'mini'],
  env: { OPENAI_SERVED_MODEL_NAME_OVERRIDE: 'tiny' },
});
const balanced = await core.createEndpoint({ ...idle, name: 'balanced', type: EndpointType.LB });

const resolve = async (model: string, key = core.key) =>
  (await call(core.clients.models, 'resolveModel', { model }, key)).targets.map(
    ({ endpointId, type, share, workerModel }) => [endpointId, type, share, workerModel],
  );
const list = async (model = '', key = core.key) =>
  (await call(core.clients.models, 'listModels', { model }, key)).models;

t.test('a name selects endpoints by alias, by their name, and by what workers serve', async (t) => {
  t.same(await resolve('gpt-4o'), [
    [large, EndpointType.QB, 3, 'meta-llama/Llama'],
    [small, EndpointType.QB, 1, 'tiny'],
  ]);
  t.same(await resolve('mini'), [[small, EndpointType.QB, 1, 'tiny']]);
  t.same(await resolve('balanced'), [[balanced, EndpointType.LB, 1, '']]);
  t.same(await resolve('meta-llama/Llama'), [[large, EndpointType.QB, 3, '']]);
});

t.test('an unknown model is rejected with the known names', async (t) => {
  t.match(
    await reasonOf(resolve('gpt-5')),
    /^MODEL_NOT_FOUND: There is no model "gpt-5"\. There are "balanced", "gpt-4o", "meta-llama\/Llama", "mini"/,
  );
  t.match(await reasonOf(resolve('')), /^INVALID_REQUEST: model has 0 characters/);
  t.match(await reasonOf(resolve('x'.repeat(192))), /^INVALID_REQUEST: model has 192 characters/);
});

t.test('a key for some endpoints, and another account, see their models alone', async (t) => {
  const key = await core.newKey(KeyScope.ALL, [small]);
  t.same(await resolve('gpt-4o', key), [[small, EndpointType.QB, 1, 'tiny']]);
  t.match(await reasonOf(resolve('balanced', key)), /^MODEL_NOT_FOUND: .* There are "gpt-4o", "mini", "tiny"\./);
  t.same(
    (await list('', key)).map(({ name }) => name),
    ['gpt-4o', 'mini', 'tiny'],
  );
  const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());
  t.match(await reasonOf(resolve('gpt-4o', stranger)), /^MODEL_NOT_FOUND: .* This key can use no endpoint\./);
  t.same(await list('', stranger), []);
});

t.test('the list has states and endpoints', async (t) => {
  t.match(await list('gpt-4o'), [
    {
      name: 'gpt-4o',
      state: ModelState.STOPPED,
      createTime: Date,
      endpoints: [
        { id: large, name: 'large', type: EndpointType.QB, state: ModelState.STOPPED, waiting: 0 },
        { id: small, name: 'small' },
      ],
    },
  ]);
  t.match(await reasonOf(list('nosuch')), /^MODEL_NOT_FOUND/);
});

t.test('changes are followed: aliases, environment of the template, workers, queue', async (t) => {
  const moved = await core.createEndpoint({ ...idle, name: 'moved', templateId });
  await core.updateEndpoint(moved, { modelAliases: ['moved-alias'], workersMax: 0 });
  // Unknown names are looked up again, but not at each request.
  const found = await waitFor('a new name', () => resolve('moved-alias').catch(() => undefined));
  t.same(found, [[moved, EndpointType.QB, 1, 'meta-llama/Llama']]);
  const template = Template.fromPartial({ id: templateId, env: { MODEL_NAME: 'other' } });
  await call(core.clients.templates, 'updateTemplate', { template, updateMask: ['env'] }, core.key);
  await waitFor('the name of the new version', async () => (await resolve('moved-alias'))[0]![3] === 'other');
  await waitFor('its pause', async () => (await list('moved-alias'))[0]!.state === ModelState.PAUSED);

  await core.updateEndpoint(large, { modelQueueMax: 1 });
  await core.submit(large);
  await waitFor(
    'the bound',
    async () => String(await resolve('gpt-4o')) === String([[small, EndpointType.QB, 1, 'tiny']]),
  );
  await core.joinAgent({ cpuSlots: 10 });
  await core.updateEndpoint(small, { workersMin: 1 });
  await waitFor('a worker', async () => (await list('mini'))[0]!.state === ModelState.READY);
});

t.test('the longest name of an endpoint selects it, whatever its characters', async (t) => {
  const name = '😀'.repeat(191);
  const id = await core.createEndpoint({ ...idle, name });
  const found = await waitFor('the new name', () => resolve(name).catch(() => undefined));
  t.same(found, [[id, EndpointType.QB, 1, '']]);
  t.match(await reasonOf(resolve(`${name}😀`)), /^INVALID_REQUEST: model has 192 characters/);
});
