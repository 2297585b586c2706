/** What the owner of a public template and those who use it learn of each other, and what they can do to each other. */
import t from 'tap';
import { call } from '../../helpers/grpc-clients.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';
import type { CoreReplicas } from '../../helpers/core-replicas.ts';
import { createDatabase } from '../../helpers/database.ts';
import { podCalls } from '../../helpers/pods.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { KeyScope } from '../../../proto/gen/slipway/v1/access_service.ts';

t.setTimeout(120_000);
// One server for the whole file.
await createDatabase(t);

const publisherOf = async (core: CoreReplicas): Promise<string> => core.newKey(KeyScope.ALL, [], await core.newAccount());

t.test('a publisher is not told which endpoints of others use a template', async (t) => {
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

t.test('a publisher\'s registry credentials stay the publisher\'s', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const publisher = await publisherOf(core);
  const { registryAuth } = await call(core.clients.registryAuths, 'createRegistryAuth', { name: 'r', username: 'u', password: 'secret' }, publisher);
  const templateId = await core.createTemplate({ public: true, imageName: 'private/image', startCommand: [], registryAuthId: registryAuth!.id }, publisher);
  const endpointId = await core.createEndpoint({ templateId });
  const wish = await waitFor('the worker to be asked for', async () => agent.desired.find((worker) => worker.endpointId === endpointId));
  t.equal(wish.spec!.imageName, 'private/image');
  t.equal(wish.spec!.registryCredentials, undefined, 'another account\'s workers do not log in as the publisher');
  const [worker] = await podCalls(core.clients, core.key).list({ endpointId });
  t.equal(worker!.registryAuthId, '');
});

t.test('one account cannot make the list of public templates too long for others', async (t) => {
  const core = await startReplicas(t);
  const publisher = await publisherOf(core);
  for (let i = 0; i < 36; i += 1) await core.createTemplate({ public: true, readme: 'x'.repeat(1_000_000) }, publisher);
  await core.createTemplate({ public: true, name: 'of a third' }, await core.newKey(KeyScope.ALL, [], await core.newAccount('third')));
  const own = await core.createTemplate({ readme: 'x'.repeat(1_000_000) });
  const { templates } = await call(core.clients.templates, 'listTemplates', { includePublic: true }, core.key);
  t.ok(templates.some(({ id, readme }) => id === own && readme.length === 1_000_000), 'the own one is whole');
  t.ok(templates.some(({ name }) => name === 'of a third'));
  t.ok(templates.length > 2, 'some of the publisher\'s');
  t.ok(JSON.stringify(templates).length < 4_000_000);
});
