// test: postgres
/** Values of environment variables over gRPC: which keys see them, and that a hidden one is never saved. */

import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

const ENV = {
  HF_TOKEN: 'hf_secret',
  EMPTY: '',
  BY_NAME: '{{ RUNPOD_SECRET_token }}',
  MIXED: 'a{{ RUNPOD_SECRET_token }}',
};
const HIDDEN = { HF_TOKEN: '***', EMPTY: '***', BY_NAME: '{{ RUNPOD_SECRET_token }}', MIXED: '***' };

t.test('values of variables', async (t) => {
  const core = await startReplicas(t);
  await core.joinAgent({ cpuSlots: 10 });
  const { clients, key } = core;
  const { keys, endpoints, templates } = clients;
  const templateId = await core.createTemplate({ name: 'shared', env: ENV });
  const id = await core.createEndpoint({ templateId, env: ENV, workersMin: 0 });
  const pod = await podCalls(clients, key).create({ name: 'p', computeType: 'CPU', startCommand: ['true'], env: ENV });
  const permissions = { management: Permission.READ, jobs: Permission.READ_WRITE };
  const restricted = { name: 'r', scope: KeyScope.RESTRICTED, endpointIds: [], accountId: '', permissions };
  const read = async (reader: string) => {
    const { endpoint } = await call(endpoints, 'getEndpoint', { id, includeTemplate: true }, reader);
    const listed = await call(endpoints, 'listEndpoints', { includeTemplate: true }, reader);
    const { template } = await call(templates, 'getTemplate', { id: templateId }, reader);
    const all = await call(templates, 'listTemplates', { includePublic: false }, reader);
    const pods = podCalls(clients, reader);
    return [
      endpoint!.env,
      endpoint!.template!.env,
      listed.endpoints[0]!.env,
      listed.endpoints[0]!.template!.env,
      template!.env,
      all.templates[0]!.env,
      (await pods.get(pod.id)).env,
      (await pods.list())[0]!.env,
    ];
  };
  const everywhere = (env: object) => Array.from({ length: 8 }, () => env);

  t.test('a key that may only read gets their names, and references to secrets', async (t) => {
    t.same(await read(await core.newKey(KeyScope.READ_ONLY)), everywhere(HIDDEN));
    t.same(await read((await call(keys, 'createKey', restricted, key)).secret), everywhere(HIDDEN));
  });

  t.test('a key that may change them gets them', async (t) => {
    t.same(await read(key), everywhere(ENV));
    const own = await core.newKey(KeyScope.ALL, [id]);
    t.same((await call(endpoints, 'getEndpoint', { id }, own)).endpoint!.env, ENV);
  });

  t.test('a hidden value is not saved in place of the true one', async (t) => {
    const env = { HF_TOKEN: '***' };
    const why = /INVALID_REQUEST: env: HF_TOKEN is \*\*\*, which stands for a value/;
    const endpoint = Endpoint.fromPartial({ id, templateId, env });
    const template = Template.fromPartial({ id: templateId, name: 'other', env });
    const updateMask = ['env'];
    t.match(await reasonOf(call(endpoints, 'createEndpoint', { endpoint, requestId: '' }, key)), why);
    t.match(await reasonOf(call(endpoints, 'updateEndpoint', { endpoint, updateMask }, key)), why);
    t.match(
      await reasonOf(
        call(
          endpoints,
          'updateEndpoint',
          { endpoint, updateMask: undefined, ownTemplate: { template, updateMask, fromTemplateId: '' } },
          key,
        ),
      ),
      why,
    );
    t.match(await reasonOf(call(templates, 'createTemplate', { template }, key)), why);
    t.match(await reasonOf(call(templates, 'updateTemplate', { template, updateMask }, key)), why);
    t.match(
      await reasonOf(podCalls(clients, key).create({ name: 'q', computeType: 'CPU', startCommand: ['true'], env })),
      why,
    );
    t.match(await reasonOf(podCalls(clients, key).update(pod.id, { env })), why);
    t.same(await read(key), everywhere(ENV));
  });
});
