// test: postgres
/** Ids that callers choose for endpoints and templates, so that clients of another service find them here. */

import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { ListAuditEventsRequest } from '@slipway/proto/gen/slipway/v1/audit_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

const core = await startReplicas(t, 2);
const all = core.replicas.map(({ address }) => grpcClients(address));
t.teardown(() => all.forEach((clients) => clients.close()));
const templateId = await core.createTemplate();
const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());

const createEndpoint = async (wantedId: string, { key = core.key, requestId = '', replica = 0 } = {}) => {
  const owned = key === stranger ? await core.createTemplate({}, key) : templateId;
  const endpoint = Endpoint.fromPartial({ name: 'moved', templateId: owned });
  const request = { endpoint, requestId, workersMax: 0, retryLimit: undefined, wantedId };
  return (await call(all[replica]!.endpoints, 'createEndpoint', request, key)).endpoint!.id;
};
const createTemplate = async (name: string, wantedId: string, { key = core.key, replica = 0 } = {}) => {
  const request = { template: Template.fromPartial({ name, imageName: 'i' }), wantedId };
  return (await call(all[replica]!.templates, 'createTemplate', request, key)).template!.id;
};

t.test('an endpoint gets the id that its owner wants', async (t) => {
  t.equal(await createEndpoint('movedendpoint1'), 'movedendpoint1');
  const { events } = await call(
    core.clients.audit,
    'listAuditEvents',
    ListAuditEventsRequest.fromPartial({ subjectId: 'movedendpoint1' }),
    core.key,
  );
  t.match(events, [{ action: 'CreateEndpoint', fields: /./ }]);
  t.ok(events[0]!.fields.includes('wanted_id'), 'the trail shows that it was chosen');
});

t.test('an id is given once', async (t) => {
  t.match(await reasonOf(createEndpoint('movedendpoint1')), /^NAME_TAKEN: The id movedendpoint1 is not free/);
  t.match(await reasonOf(createEndpoint('movedendpoint1', { key: stranger })), /^NAME_TAKEN/, 'in any account');
  const tries = await Promise.allSettled([0, 1, 0, 1].map((replica) => createEndpoint('movedendpoint2', { replica })));
  t.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1, 'also when many ask at once');
  for (const one of tries) if (one.status === 'rejected') t.match(String(one.reason), /is not free/);
});

t.test('a repeated creation returns the endpoint', async (t) => {
  const ids = await Promise.all(
    [0, 1].map((replica) => createEndpoint('movedendpoint3', { requestId: 'key 1', replica })),
  );
  t.same(ids, ['movedendpoint3', 'movedendpoint3']);
});

t.test('the id of a deleted endpoint rests', async (t) => {
  const id = await createEndpoint('movedendpoint4');
  await call(core.clients.endpoints, 'deleteEndpoint', { id }, core.key);
  t.match(await reasonOf(createEndpoint(id)), /^NAME_TAKEN: .*within the last hour/);
  t.match(await reasonOf(createEndpoint(id, { key: stranger })), /^NAME_TAKEN/, 'for every account');
  await core.sql`UPDATE audit_event SET at = at - interval '61 minutes' WHERE subject_id = ${id}`;
  t.equal(await createEndpoint(id), id);
});

t.test('templates, too', async (t) => {
  t.equal(await createTemplate('moved', 'movedtmpl1'), 'movedtmpl1');
  t.match(
    await reasonOf(createTemplate('other', 'movedtmpl1')),
    /^NAME_TAKEN: The id movedtmpl1 is not free: another template/,
  );
  t.match(await reasonOf(createTemplate('moved', 'movedtmpl2')), /^NAME_TAKEN: (?!The id)/, 'a name is one, too');
  t.match(await reasonOf(createTemplate('other', 'movedtmpl1', { key: stranger })), /^NAME_TAKEN/);
});

t.test('an id must have the form of those that are made here', async (t) => {
  for (const id of [
    '',
    'short',
    'Movedendpoint1',
    'moved-endpoint',
    'movedendpoint12',
    'moved\u0000ndpoint',
    '../../../../etc',
  ])
    t.match(await reasonOf(createEndpoint(id)), /^INVALID_REQUEST: wanted_id must be 14 lowercase/, JSON.stringify(id));
  t.match(await reasonOf(createTemplate('other', 'serverless1')), /^INVALID_REQUEST: wanted_id must be 10 lowercase/);
});

t.test('only a key that may do everything in its account chooses', async (t) => {
  const id = await createEndpoint('movedendpoint5');
  const narrow = await core.newKey(KeyScope.ALL, [id]);
  const reader = await core.newKey(KeyScope.READ_ONLY);
  for (const key of [narrow, reader, core.rootKey]) {
    t.match(await reasonOf(createEndpoint('movedendpoint6', { key })), /^UNAUTHORIZED/);
    t.match(await reasonOf(createTemplate('narrow', 'movedtmpl3', { key })), /^UNAUTHORIZED/);
  }
  const restricted = await call(
    core.clients.keys,
    'createKey',
    {
      name: 'r',
      scope: KeyScope.RESTRICTED,
      endpointIds: [],
      accountId: core.accountId,
      permissions: { management: Permission.READ_WRITE, jobs: Permission.READ_WRITE },
    },
    core.rootKey,
  );
  t.match(await reasonOf(createEndpoint('movedendpoint6', { key: restricted.secret })), /^UNAUTHORIZED/);
  t.equal(await createEndpoint('movedendpoint6'), 'movedendpoint6', 'nobody took it');
});
