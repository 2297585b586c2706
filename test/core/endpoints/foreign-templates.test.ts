// test: postgres, 10 s
/** The owner of a public template and its users: what they see of each other and can do to each other. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const publisherOf = async (core: CoreReplicas): Promise<string> =>
  core.newKey(KeyScope.ALL, [], await core.newAccount());

t.test('a publisher does not see which foreign endpoints use a template', async (t) => {
  const core = await startReplicas(t);
  const publisher = await publisherOf(core);
  const templateId = await core.createTemplate({ public: true }, publisher);
  const theirs = await core.createEndpoint({ templateId });
  const refusal = await reasonOf(call(core.clients.templates, 'deleteTemplate', { id: templateId }, publisher));
  t.match(refusal, /^IN_USE: The template is used by endpoints of other accounts;/);
  t.notMatch(refusal, theirs);
  const own = await core.createEndpoint({ templateId }, publisher);
  const both = await reasonOf(call(core.clients.templates, 'deleteTemplate', { id: templateId }, publisher));
  t.match(both, `IN_USE: The template is used by ${own}, endpoints of other accounts;`);
});

t.test("a publisher's registry credentials stay the publisher's", async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const publisher = await publisherOf(core);
  const { registryAuth } = await call(
    core.clients.registryAuths,
    'createRegistryAuth',
    { name: 'r', username: 'u', password: 'secret' },
    publisher,
  );
  const templateId = await core.createTemplate(
    { public: true, imageName: 'private/image', startCommand: [], registryAuthId: registryAuth!.id },
    publisher,
  );
  const endpointId = await core.createEndpoint({ templateId });
  const request = await waitFor('the worker to be asked for', async () =>
    agent.desired.find((worker) => worker.endpointId === endpointId),
  );
  t.equal(request.spec!.imageName, 'private/image');
  t.equal(request.spec!.registryCredentials, undefined, "another account's workers do not log in as the publisher");
  const [worker] = await podCalls(core.clients, core.key).list({ endpointId });
  t.equal(worker!.registryAuthId, '');
});

t.test('a template that its publisher made private is in no list, whoever still runs it', async (t) => {
  const core = await startReplicas(t);
  const publisher = await publisherOf(core);
  const templateId = await core.createTemplate({ public: true, name: 'shared', startCommand: ['first'] }, publisher);
  const endpointId = await core.createEndpoint({ templateId });
  const own = await core.createTemplate({ name: 'own' });
  const limited = await core.newKey(KeyScope.ALL, [endpointId]);
  const listed = async (key: string) => {
    const { templates } = await call(core.clients.templates, 'listTemplates', { includePublic: true }, key);
    return templates.map(({ id }) => id);
  };
  t.same(await listed(limited), [templateId], 'a key for some endpoints sees what they run');
  const changed = Template.fromPartial({ id: templateId, public: false, readme: 'secret', startCommand: ['second'] });
  const updateMask = ['public', 'readme', 'start_command'];
  await call(core.clients.templates, 'updateTemplate', { template: changed, updateMask }, publisher);
  t.same(await listed(limited), []);
  t.notOk((await listed(core.key)).includes(templateId));
  t.ok((await listed(core.key)).includes(own));
  const get = call(core.clients.templates, 'getTemplate', { id: templateId }, limited);
  t.match(await reasonOf(get), /^TEMPLATE_NOT_FOUND/);
});

t.test('one account cannot make the list of public templates too long for others', async (t) => {
  const core = await startReplicas(t);
  const publisher = await publisherOf(core);
  for (let i = 0; i < 36; i += 1) await core.createTemplate({ public: true, readme: 'x'.repeat(1_000_000) }, publisher);
  await core.createTemplate(
    { public: true, name: 'of a third' },
    await core.newKey(KeyScope.ALL, [], await core.newAccount('third')),
  );
  const own = await core.createTemplate({ readme: 'x'.repeat(1_000_000) });
  const templates: Template[] = [];
  let pageToken = '';
  do {
    const page = await call(core.clients.templates, 'listTemplates', { includePublic: true, pageToken }, core.key);
    templates.push(...page.templates);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  t.ok(
    templates.some(({ id, readme }) => id === own && readme.length === 1_000_000),
    'the own one is whole',
  );
  t.ok(templates.some(({ name }) => name === 'of a third'));
  t.ok(templates.length > 2, "some of the publisher's");
  t.ok(JSON.stringify(templates).length < 4_000_000);
});

t.test(
  'an endpoint of another account keeps the version it was given until its owner names the template anew',
  async (t) => {
    const core = await startReplicas(t);
    const agent = await core.joinAgent();
    const publisher = await publisherOf(core);
    const template = (changes: Partial<Template>, id = ''): Template => Template.fromPartial({ id, ...changes });
    const templateId = await core.createTemplate(
      { public: true, startCommand: ['first'], env: { TOKEN: 'secret-1' } },
      publisher,
    );
    const endpointId = await core.createEndpoint({ templateId, workersMin: 1 });
    const own = await core.createEndpoint({ templateId, workersMin: 1 }, publisher);
    const commands = (id: string): string[][] =>
      agent.desired.filter((worker) => worker.endpointId === id).map((worker) => worker.spec!.startCommand);
    await waitFor('both to be asked for', async () =>
      commands(endpointId).length > 0 && commands(own).length > 0 ? true : undefined,
    );
    const change = (changes: Partial<Template>, updateMask: string[]) =>
      call(
        core.clients.templates,
        'updateTemplate',
        { template: template(changes, templateId), updateMask },
        publisher,
      );

    const changed = await change({ startCommand: ['second'], env: { TOKEN: 'secret-2' } }, ['start_command', 'env']);
    t.equal(changed.template!.version, 2);
    await waitFor("the publisher's own to follow", async () =>
      commands(own).some(([first]) => first === 'second') ? true : undefined,
    );
    const get = async () =>
      (await call(core.clients.endpoints, 'getEndpoint', { id: endpointId, includeTemplate: true }, core.key))
        .endpoint!;
    const kept = await get();
    t.equal(kept.version, 0, 'no worker is replaced');
    t.same([kept.template!.version, kept.template!.startCommand], [1, ['first']]);
    t.same(kept.template!.env, { TOKEN: '' }, "the values are the publisher's");
    t.same(commands(endpointId), [['first']]);

    const update = (fields: Partial<Endpoint>, updateMask: string[]) =>
      call(
        core.clients.endpoints,
        'updateEndpoint',
        { endpoint: Endpoint.fromPartial({ id: endpointId, ...fields }), updateMask },
        core.key,
      );
    await update({ idleTimeoutSeconds: 7 }, ['idle_timeout_seconds']);
    t.equal((await get()).template!.version, 1, 'another field takes nothing');
    await update({ templateId }, ['template_id']);
    const taken = await get();
    t.same([taken.version, taken.template!.version, taken.template!.startCommand], [1, 2, ['second']]);
    const request = await waitFor('a worker of the new version', async () =>
      agent.desired.find((worker) => worker.endpointId === endpointId && worker.spec!.startCommand[0] === 'second'),
    );
    t.same(request.spec!.env, { TOKEN: 'secret-2' }, 'the values reach the worker');
    await update({ templateId }, ['template_id']);
    t.equal((await get()).version, 1, 'the same once more changes nothing');

    await change({ public: false, startCommand: ['third'] }, ['public', 'start_command']);
    await update({ templateId }, ['template_id']);
    t.same((await get()).template!.startCommand, ['second'], 'a private one stays as it was given');

    const eventsOf = async (key: string, subjectId: string) =>
      (await call(core.clients.audit, 'listAuditEvents', { pageSize: 0, pageToken: '', subjectId }, key)).events.map(
        ({ action, keyId, fields }) => [action, keyId === 'another-account' ? keyId : 'own', ...fields],
      );
    t.same(
      (await eventsOf(publisher, templateId)).slice(0, 4),
      [
        ['UpdateTemplate', 'own', 'public', 'start_command'],
        ['UseTemplate', 'another-account'],
        ['UpdateTemplate', 'own', 'start_command', 'env'],
        ['UseTemplate', 'another-account'],
      ],
      'the publisher hears when it is taken, not by whom',
    );
    t.same(
      await eventsOf(core.key, templateId),
      [
        ['UpdateTemplate', 'another-account', 'public', 'start_command'],
        ['UpdateTemplate', 'another-account', 'start_command', 'env'],
      ],
      'who uses it hears of its changes',
    );
  },
);

t.test("a public template's environment is hidden from other accounts, but reaches their pods", async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const publisher = await publisherOf(core);
  const templateId = await core.createTemplate(
    { public: true, env: { TOKEN: 'secret', MODE: 'fast' }, serverless: false },
    publisher,
  );
  const { template } = await call(core.clients.templates, 'getTemplate', { id: templateId }, core.key);
  t.same(template!.env, { TOKEN: '', MODE: '' });
  const { templates } = await call(core.clients.templates, 'listTemplates', { includePublic: true }, core.key);
  t.same(templates.find(({ id }) => id === templateId)!.env, { TOKEN: '', MODE: '' });
  t.same((await call(core.clients.templates, 'getTemplate', { id: templateId }, publisher)).template!.env, {
    TOKEN: 'secret',
    MODE: 'fast',
  });
  const pods = podCalls(core.clients, core.key);
  const pod = await pods.create({ templateId, computeType: 'CPU', env: { MODE: 'slow' } });
  t.same(pod.env, { MODE: 'slow' });
  const request = await waitFor('the pod to be asked for', async () =>
    agent.desiredPods.find((each) => each.podId === pod.id),
  );
  t.match(request.spec!.env, { TOKEN: 'secret', MODE: 'slow' });
});
