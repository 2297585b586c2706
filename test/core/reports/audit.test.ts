// test: postgres
/** The audit trail over gRPC: every change is in it with its key and the names of its fields, and nothing else is. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { AuditEvent } from '@slipway/proto/gen/slipway/v1/audit_service';
import { ListAuditEventsRequest } from '@slipway/proto/gen/slipway/v1/audit_service';
import { CancelJobsRequest, RetryJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const list = (core: CoreReplicas, request: Partial<ListAuditEventsRequest> = {}, key = core.key) =>
  call(core.clients.audit, 'listAuditEvents', ListAuditEventsRequest.fromPartial(request), key);
/** Returns old and new value by field. */
const valuesOf = (event?: AuditEvent) =>
  Object.fromEntries(event!.values.map(({ field, oldJson, newJson }) => [field, [oldJson, newJson]]));
/** Returns the changes of one thing, oldest first, as `action fields`. */
const trail = async (core: CoreReplicas, subjectId: string): Promise<string[]> =>
  (await list(core, { subjectId })).events.toReversed().map(({ action, fields }) => [action, ...fields].join(' '));

t.test('every kind of change', async (t) => {
  const core = await startReplicas(t);
  const { clients, key } = core;
  const keyIdOf = async (text: string) =>
    (await call(clients.access, 'checkAccess', { endpointId: '', write: false, api: 0 }, text)).keyId;
  const keyId = await keyIdOf(key);

  await call(clients.access, 'updateAccount', { publicKey: 'ssh-ed25519 AAAA' }, key);
  t.same(await trail(core, core.accountId), ['CreateAccount name', 'UpdateAccount public_key']);

  const made = await call(
    clients.keys,
    'createKey',
    {
      name: 'k',
      scope: KeyScope.RESTRICTED,
      endpointIds: [],
      accountId: '',
      permissions: { management: 1, jobs: 0 },
    },
    key,
  );
  await call(clients.usage, 'setPrices', { prices: [{ item: 'NVIDIA L4', usdPerHour: 0.5 }] }, core.rootKey);
  const prices = await list(core, { subjectId: 'prices' }, core.rootKey);
  t.match(prices.events, [{ action: 'SetPrices', keyId: 'root', fields: ['NVIDIA L4'], accountId: '' }]);
  t.same(valuesOf(prices.events[0]), { 'NVIDIA L4': [undefined, '0.5'] });
  const quotas = { accountId: core.accountId, quota: { workers: 7 } };
  await call(clients.access, 'setQuota', quotas, core.rootKey);
  await call(clients.access, 'setQuota', { ...quotas, quota: { workers: 8, gpus: 2 } }, core.rootKey);
  const [quota] = (await list(core, { subjectId: core.accountId })).events;
  t.same(valuesOf(quota), { 'quota.workers': ['7', '8'], 'quota.gpus': ['null', '2'] });
  t.same(await trail(core, 'prices'), [], "which is the operator's business");

  await call(clients.keys, 'revokeKey', { id: made.key!.id }, key);
  await call(clients.keys, 'revokeKey', { id: made.key!.id }, core.rootKey);
  t.same(
    await trail(core, made.key!.id),
    ['CreateKey name scope permissions', 'RevokeKey'],
    'a second revocation changes nothing',
  );

  const volumeId = await core.createVolume('EU-CZ-1');
  await call(
    clients.volumes,
    'updateNetworkVolume',
    { networkVolume: NetworkVolume.fromPartial({ id: volumeId, sizeGb: 2 }), updateMask: ['size_gb'] },
    key,
  );
  const { registryAuth } = await call(
    clients.registryAuths,
    'createRegistryAuth',
    { name: 'hub', username: 'u', password: 'p' },
    key,
  );
  await call(clients.registryAuths, 'updateRegistryAuth', { id: registryAuth!.id, username: 'u', password: 'q' }, key);

  const { secret } = await call(clients.secrets, 'createSecret', { name: 's', value: 'v', description: 'd' }, key);
  await call(clients.secrets, 'updateSecret', { id: secret!.id, value: 'w' }, key);
  await call(clients.secrets, 'deleteSecret', { id: secret!.id }, key);
  t.same(await trail(core, secret!.id), ['CreateSecret name value description', 'UpdateSecret value', 'DeleteSecret']);

  const templateId = await core.createTemplate({
    imageName: 'i',
    registryAuthId: registryAuth!.id,
    env: { TOKEN: 'env-secret' },
  });
  await call(
    clients.templates,
    'updateTemplate',
    {
      template: Template.fromPartial({ id: templateId, readme: 'r', registryAuthId: '' }),
      updateMask: ['readme', 'registry_auth_id'],
    },
    key,
  );
  const endpointId = await core.createEndpoint({
    templateId,
    networkVolumeIds: [volumeId],
    webhookSecret: 'hook-secret',
    workersMin: 0,
  });
  const limited = await core.newKey(KeyScope.ALL, [endpointId]);
  const change = { endpoint: { id: endpointId, workersMax: 0, networkVolumeIds: [], webhookSecret: '' } };
  const updateMask = ['workers_max', 'network_volume_ids', 'webhook_secret'];
  await call(
    clients.endpoints,
    'updateEndpoint',
    { endpoint: { ...(await get(core, endpointId)), ...change.endpoint }, updateMask },
    limited,
  );
  await call(clients.endpoints, 'restartEndpoint', { id: endpointId }, limited);
  await call(
    clients.templates,
    'updateTemplate',
    { template: Template.fromPartial({ id: templateId, imageName: 'j' }), updateMask: ['image_name'] },
    key,
  );
  const { releases } = await call(clients.endpoints, 'listReleases', { endpointId, pageSize: 3, beforeId: 0 }, key);
  t.match(
    releases,
    [
      { version: 3, isNew: true, action: 'UpdateTemplate', fields: ['image_name'], keyId },
      { version: 2, isNew: true, action: 'RestartEndpoint', fields: [] },
      { version: 1, isNew: true, action: 'UpdateEndpoint', fields: updateMask },
    ],
    'versions of the endpoint, the latest first',
  );
  const earlier = await call(
    clients.endpoints,
    'listReleases',
    { endpointId, pageSize: 0, beforeId: releases[2]!.id },
    key,
  );
  t.match(earlier.releases, [{ version: 0, isNew: true, action: 'CreateEndpoint' }]);
  t.equal(earlier.releases.length, 1);
  await call(clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.rootKey);
  const { events } = await list(core, { subjectId: endpointId });
  t.same(
    events.map(({ action, keyId: used }) => [action, used]),
    [
      ['DeleteEndpoint', 'root'],
      ['RestartEndpoint', await keyIdOf(limited)],
      ['UpdateEndpoint', await keyIdOf(limited)],
      ['CreateEndpoint', keyId],
    ],
    'newest first, with the key that was used',
  );
  t.same(events[1]!.fields, []);
  t.same(events[2]!.fields, updateMask);
  t.match(events[3]!.fields.join(), /^name,template_id,type,.*network_volume_ids.*,webhook_secret$/);
  t.ok(events.every(({ time }) => time instanceof Date));
  t.match(valuesOf(events[2]), { workers_max: ['3', '0'], webhook_secret: [undefined, '"***"'] });
  t.ok(
    events.every(({ subjectName }) => subjectName === events[3]!.subjectName),
    'also the one of its deletion',
  );
  t.ok(events[3]!.subjectName, 'an endpoint has a name');
  t.match(events[3], { keyName: /./, address: '127.0.0.1', via: '' });
  t.match(events[0], { keyId: 'root', keyName: '' });

  await call(clients.templates, 'deleteTemplate', { id: templateId }, key);
  await call(clients.registryAuths, 'deleteRegistryAuth', { id: registryAuth!.id }, key);
  await call(clients.volumes, 'deleteNetworkVolume', { id: volumeId }, key);
  t.same(await trail(core, volumeId), [
    'CreateNetworkVolume name size_gb data_center_id',
    'UpdateNetworkVolume size_gb',
    'DeleteNetworkVolume',
  ]);
  t.same(await trail(core, registryAuth!.id), [
    'CreateRegistryAuth name username password',
    'UpdateRegistryAuth username password',
    'DeleteRegistryAuth',
  ]);
  const [first, ...rest] = await trail(core, templateId);
  t.match(first, /^CreateTemplate name image_name start_command env .*registry_auth_id/);
  t.same(rest, ['UpdateTemplate readme registry_auth_id', 'UpdateTemplate image_name', 'DeleteTemplate']);
  const [created] = (await list(core, { subjectId: templateId })).events.slice(-1);
  t.match(valuesOf(created), { image_name: [undefined, '"i"'], env: [undefined, '{"TOKEN":"***"}'] });
  const everything = (await list(core, { pageSize: 1_000 }, core.rootKey)).events;
  const unnamed = everything.filter(({ subjectName, subjectId }) => subjectName === '' && subjectId !== 'prices');
  t.same(unnamed, [], 'each has the name of what was changed, deletions too');
  const rows = await core.sql`SELECT t::text AS row FROM audit_event t`;
  for (const value of ['env-secret', 'hook-secret', '"q"', '"w"', key])
    t.notOk(
      rows.some(({ row }) => row.includes(value)),
      `no value: ${value}`,
    );
});

const get = async (core: CoreReplicas, id: string) =>
  (await call(core.clients.endpoints, 'getEndpoint', { id }, core.key)).endpoint!;

t.test('calls that change many jobs', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  await core.submit(endpointId);
  await core.submit(endpointId);
  const { jobs } = core.clients;
  const none = { endpointId, states: [], limit: 0, cursor: '' };
  await call(jobs, 'cancelJobs', CancelJobsRequest.fromPartial(none), core.key);
  await call(jobs, 'retryJobs', RetryJobsRequest.fromPartial(none), core.key);
  await core.submit(endpointId);
  await call(jobs, 'purgeQueue', { endpointId }, core.key);
  const { events } = await list(core, { subjectId: endpointId });
  t.match(
    events.slice(0, 3).map((event) => [event.action, event.subjectName !== '', valuesOf(event)]),
    [
      ['PurgeQueue', true, { removed: [undefined, '1'] }],
      ['RetryJobs', true, { done: [undefined, '0'] }],
      ['CancelJobs', true, { done: [undefined, '2'] }],
    ],
  );
});

t.test('pages', async (t) => {
  const core = await startReplicas(t);
  for (let i = 0; i < 5; i += 1) await core.createVolume(`DC-${i}`);
  const all = (await list(core)).events;
  t.ok(all.length >= 7, 'the account, its key and the volumes');
  t.same(
    all.map(({ id }) => id),
    all.map(({ id }) => id).toSorted((a, b) => b - a),
    'newest first',
  );
  const found: number[] = [];
  let pageToken = '';
  do {
    const page = await list(core, { pageSize: 3, pageToken });
    t.ok(page.events.length <= 3);
    found.push(...page.events.map(({ id }) => id));
    pageToken = page.nextPageToken;
    // A change between two pages moves nothing.
    await core.createVolume('DC-x');
  } while (pageToken !== '');
  t.same(
    found,
    all.map(({ id }) => id),
  );
  t.equal((await list(core, { pageSize: found.length + 10 })).nextPageToken, '');
  for (const [request, why] of [
    [{ pageSize: -1 }, /page_size is -1, but must be from 1 to 1000/],
    [{ pageSize: 1_001 }, /page_size is 1001/],
    [{ pageToken: 'x' }, /page_token is none/],
    [{ pageToken: Buffer.from('-1').toString('base64url') }, /page_token/],
    [{ pageToken: Buffer.from('9'.repeat(20)).toString('base64url') }, /page_token/],
    [{ subjectId: 'a\0' }, /subject_id/],
    [{ sinceTime: new Date(-1) }, /since_time must be a time of the years 1970 to 9999/],
    [{ untilTime: new Date(8_640_000_000_000_000) }, /until_time/],
  ] as const) {
    const reason = await reasonOf(list(core, request));
    t.match(reason, /^INVALID_REQUEST: /);
    t.match(reason, why);
  }
  t.ok(await list(core, { pageSize: 1_000 }));
});

t.test('who may read it', async (t) => {
  const core = await startReplicas(t);
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  for (const key of [
    await core.newKey(KeyScope.READ_ONLY),
    await core.newKey(KeyScope.ALL, [endpointId]),
    core.agentKey,
    'rpa_wrong',
    '',
  ]) {
    t.match(await reasonOf(list(core, {}, key)), /^UNAUTHORIZED/);
  }
  t.ok(
    (await list(core, { accountId: core.accountId }, core.rootKey)).events.every(
      ({ accountId }) => accountId === core.accountId,
    ),
  );
  const strangerAccount = await core.newAccount();
  const everywhere = (await list(core, {}, core.rootKey)).events;
  t.ok(
    everywhere.some(({ action, accountId }) => action === 'CreateAccount' && accountId === strangerAccount),
    'the operator sees all accounts',
  );
  t.ok(everywhere.some(({ accountId }) => accountId === core.accountId));
  t.match(await reasonOf(list(core, { accountId: strangerAccount }, core.key)), /^UNAUTHORIZED/);
  t.same((await list(core, { subjectId: endpointId }, stranger)).events, [], "another account's changes are not there");
  t.same(
    (await list(core, {}, stranger)).events.map(({ action }) => action),
    ['CreateKey', 'CreateAccount'],
  );
});
