// test: postgres
/** Templates over gRPC: image names, unique names, update masks, use by endpoints. */
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

t.test('image names are the ones that an engine accepts', async (t) => {
  const core = await startReplicas(t);
  const bad = [
    'a b',
    ' a',
    'a\n',
    '-x',
    'me/Worker:1',
    'a:',
    'a:b:c',
    'a@sha256:12',
    'https://hub.example/a',
    '/a',
    'a/',
    'a//b',
    'é',
    'x'.repeat(513),
  ];
  for (const imageName of bad)
    t.match(
      await reasonOf(core.createTemplate({ imageName })),
      /^INVALID_REQUEST: image_name /,
      imageName.slice(0, 20),
    );
  const digest = `sha256:${'0a'.repeat(32)}`;
  const good = [
    'a',
    'me/worker:1',
    'me/a__b-c.d:V1.0_x',
    'localhost/worker',
    'Hub.example:5000/me/worker:1',
    `w@${digest}`,
    `w:1@${digest}`,
    '',
  ];
  for (const imageName of good) t.ok(await core.createTemplate({ imageName }), imageName);
});

t.test('templates: names, masks, use', async (t) => {
  const core = await startReplicas(t);
  const { templates } = core.clients;
  const id = await core.createTemplate({ name: 'one', ports: ['8888/http', '22/tcp'] });
  const second = await core.createTemplate({ name: 'two' });
  t.match(await reasonOf(core.createTemplate({ name: 'one' })), /^NAME_TAKEN/);
  const update = (fields: Partial<Template>, updateMask: string[]) =>
    call(templates, 'updateTemplate', { template: Template.fromPartial({ ...fields, id }), updateMask }, core.key);
  t.match(await reasonOf(update({ name: 'two' }, ['name'])), /^NAME_TAKEN/);
  t.match((await update({ name: 'three', readme: 'hi' }, ['name', 'readme'])).template, {
    name: 'three',
    readme: 'hi',
    ports: ['8888/http', '22/tcp'],
  });
  const same = await update({ readme: 'again', category: 'NVIDIA', serverless: true }, [
    'readme',
    'category',
    'serverless',
  ]);
  t.match(same.template, { readme: 'again' }, 'fixed, and the same');
  t.match(
    await reasonOf(update({ category: 'AMD' }, ['category'])),
    /^INVALID_REQUEST: category is fixed after creation and is "NVIDIA" here/,
  );
  t.match(await reasonOf(update({ serverless: false }, ['serverless'])), /^INVALID_REQUEST: serverless is fixed/);
  t.match(await reasonOf(update({}, [])), /update_mask is empty/);
  for (const [fields, why] of [
    [{ name: '' }, /name has 0/],
    [{ startCommand: [] }, /image_name or start_command/],
    [{ startCommand: [''] }, /names no program/],
    [{ containerDiskGb: -1 }, /container_disk_gb/],
    [{ ports: ['x'] }, /ports/],
    [{ ports: ['70000/tcp'] }, /ports/],
    [{ category: 'X' }, /category/],
    [{ env: { 'a=b': 'c' } }, /not a name for a variable/],
    [{ workingDirectory: 'here' }, /working_directory is "here", but must be a path from the root/],
    ...['data', '/data/../etc', '..'].map(
      (volumeMountPath) =>
        [{ volumeMountPath }, /volume_mount_path is ".*", but must be a path from the root/] as const,
    ),
    [{ volumeMountPath: '//' }, /cannot be the root/],
  ] as [Partial<Template>, RegExp][])
    t.match(await reasonOf(core.createTemplate(fields)), why, JSON.stringify(fields));
  const endpointId = await core.createEndpoint({ templateId: id, workersMin: 0, workersMax: 0 });
  t.match(await reasonOf(call(templates, 'deleteTemplate', { id }, core.key)), new RegExp(`^IN_USE: .*${endpointId}`));
  await call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.key);
  await call(templates, 'deleteTemplate', { id }, core.key);
  t.same(
    (await call(templates, 'listTemplates', { includePublic: false }, core.key)).templates.map(
      (template) => template.id,
    ),
    [second],
  );
  t.match(await reasonOf(call(templates, 'getTemplate', { id }, core.key)), /^TEMPLATE_NOT_FOUND/);
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  t.match(await reasonOf(call(templates, 'getTemplate', { id: second }, stranger)), /^TEMPLATE_NOT_FOUND/);
  t.match(await reasonOf(core.createEndpoint({ templateId: second }, stranger)), /^INVALID_REQUEST: .*no template/);

  // A public template is for all to see and to use; its credentials are named to its owner only.
  const { registryAuth } = await call(
    core.clients.registryAuths,
    'createRegistryAuth',
    { name: 'hub', username: 'u', password: 'p' },
    core.key,
  );
  const template = Template.fromPartial({ id: second, public: true, registryAuthId: registryAuth!.id });
  await call(templates, 'updateTemplate', { template, updateMask: ['public', 'registry_auth_id'] }, core.key);
  const listed = async (includePublic: boolean, key: string) =>
    (await call(templates, 'listTemplates', { includePublic }, key)).templates;
  t.same(await listed(false, stranger), []);
  t.match(await listed(true, stranger), [{ id: second, registryAuthId: '' }]);
  t.match((await call(templates, 'getTemplate', { id: second }, stranger)).template, { registryAuthId: '' });
  t.match(await listed(true, core.key), [{ id: second, registryAuthId: registryAuth!.id }]);
  t.ok(await core.createEndpoint({ templateId: second }, stranger));
});
