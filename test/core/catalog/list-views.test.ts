// test: postgres
/** Every list is searched and ordered before it is cut into pages. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { ListView } from '@slipway/proto/gen/slipway/v1/list_view';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(60_000);

/** Returns one page of a list's view: the ids and the token of the next page. */
type Entries = (view: ListView, pageSize: number, pageToken: string) => Promise<{ ids: string[]; next: string }>;

t.test('every list is searched and ordered before it is cut into pages', async (t) => {
  const core = await startReplicas(t);
  const { clients, key, rootKey } = core;
  await core.joinAgent({});
  const templateId = await core.createTemplate({ name: 'tiny-llama', imageName: 'llm:2' });
  for (const name of ['Beta', 'alpha', 'gamma_100%']) {
    await core.createTemplate({ name, imageName: `image-${name.replace('%', '').toLowerCase()}` });
    await core.createEndpoint({ name, templateId, workersMin: 0 });
    await core.createVolume('EU-CZ-1');
    await call(clients.registryAuths, 'createRegistryAuth', { name, username: 'u', password: 'p' }, key);
    await call(
      clients.keys,
      'createKey',
      { name, scope: KeyScope.READ_ONLY, endpointIds: [], accountId: '', permissions: undefined },
      key,
    );
    await call(clients.access, 'createAccount', { name }, rootKey);
    await call(
      clients.pods,
      'createPod',
      { pod: Pod.fromPartial({ name, startCommand: ['true'], computeType: 'CPU' }) },
      key,
    );
  }
  for (const name of ['delta', 'epsilon']) await core.createTemplate({ name, imageName: 'image-x' });
  // Longer than a token may be, as earlier versions took them.
  await core.sql`UPDATE template SET image_name = ${`image-${'x'.repeat(20_000)}`} WHERE image_name = 'image-x'`;
  const idsOf = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id);
  const lists: Record<string, { read: Entries; orders: string[] }> = {
    templates: {
      orders: ['created', 'name', 'image', 'kind'],
      read: async (view, pageSize, pageToken) => {
        const { templates, nextPageToken: next } = await call(
          clients.templates,
          'listTemplates',
          { includePublic: false, view, pageSize, pageToken },
          key,
        );
        return { ids: idsOf(templates), next };
      },
    },
    endpoints: {
      orders: ['created', 'name', 'type', 'workers_min', 'workers_max'],
      read: async (view, pageSize, pageToken) => {
        const { endpoints, nextPageToken: next } = await call(
          clients.endpoints,
          'listEndpoints',
          { view, pageSize, pageToken },
          key,
        );
        return { ids: idsOf(endpoints), next };
      },
    },
    volumes: {
      orders: ['created', 'name', 'size', 'data_center'],
      read: async (view, pageSize, pageToken) => {
        const { networkVolumes, nextPageToken: next } = await call(
          clients.volumes,
          'listNetworkVolumes',
          { view, pageSize, pageToken },
          key,
        );
        return { ids: idsOf(networkVolumes), next };
      },
    },
    registries: {
      orders: ['created', 'name'],
      read: async (view, pageSize, pageToken) => {
        const { registryAuths, nextPageToken: next } = await call(
          clients.registryAuths,
          'listRegistryAuths',
          { view, pageSize, pageToken },
          key,
        );
        return { ids: idsOf(registryAuths), next };
      },
    },
    keys: {
      orders: ['created', 'name', 'scope'],
      read: async (view, pageSize, pageToken) => {
        const { keys, nextPageToken: next } = await call(
          clients.keys,
          'listKeys',
          { accountId: '', view, pageSize, pageToken },
          key,
        );
        return { ids: idsOf(keys), next };
      },
    },
    accounts: {
      orders: ['created', 'name'],
      read: async (view, pageSize, pageToken) => {
        const { accounts, nextPageToken: next } = await call(
          clients.access,
          'listAccounts',
          { view, pageSize, pageToken },
          rootKey,
        );
        return { ids: idsOf(accounts), next };
      },
    },
    pods: {
      orders: ['created', 'name', 'image', 'state', 'gpus', 'changed'],
      read: async (view, pageSize, pageToken) => {
        const asked = { includeWorkers: false, endpointId: '', endpointIds: [], view, pageSize, pageToken };
        const { pods, nextPageToken: next } = await call(clients.pods, 'listPods', asked, key);
        return { ids: idsOf(pods), next };
      },
    },
    machines: {
      orders: ['name', 'seen', 'state', 'memory', 'processors', 'gpus'],
      read: async (view, pageSize, pageToken) => {
        const { machines, nextPageToken: next } = await call(
          clients.machines,
          'listMachines',
          { view, pageSize, pageToken },
          rootKey,
        );
        return { ids: machines.map(({ machine }) => machine!.id), next };
      },
    },
    audit: {
      orders: ['time'],
      read: async (view, pageSize, pageToken) => {
        const { events, nextPageToken: next } = await call(
          clients.audit,
          'listAuditEvents',
          { view, pageSize, pageToken, subjectId: '' },
          key,
        );
        return { ids: events.map(({ id }) => String(id)), next };
      },
    },
  };
  for (const [name, { read, orders }] of Object.entries(lists)) {
    for (const orderBy of orders) {
      const whole = await read({ search: '', orderBy, descending: false, filters: {} }, 0, '');
      const turned = await read({ search: '', orderBy, descending: true, filters: {} }, 1_000, '');
      t.same(turned.ids, whole.ids.toReversed(), `${name} by ${orderBy}, the other way round`);
      const paged: string[] = [];
      for (let next: string | undefined = ''; next !== undefined; ) {
        const page: Awaited<ReturnType<Entries>> = await read(
          { search: '', orderBy, descending: true, filters: {} },
          2,
          next,
        );
        paged.push(...page.ids);
        next = page.next || undefined;
      }
      t.same(paged, turned.ids, `${name} by ${orderBy}, in pages of two`);
    }
    if (name === 'audit') continue;
    const refused = (view: Partial<ListView>, token = '') =>
      reasonOf(read({ search: '', orderBy: '', descending: false, filters: {}, ...view }, 1, token));
    const first = await read({ search: '', orderBy: 'name', descending: false, filters: {} }, 1, '');
    if (first.next !== '')
      t.match(
        await refused({ orderBy: 'name', descending: true, filters: {} }, first.next),
        /^INVALID_REQUEST: page_token is none/,
      );
    t.match(await refused({ orderBy: 'secret' }), /^INVALID_REQUEST: order_by is "secret", but this list/);
    t.match(
      await refused({ filters: { secret: 'x' } }),
      /^INVALID_REQUEST: filters has "secret", but this list is filtered by /,
    );
    t.match(await refused({ filters: { name: 'x'.repeat(201) } }), /^INVALID_REQUEST: view.filters must be/);
    t.match(await refused({ search: 'x'.repeat(201) }), /^INVALID_REQUEST: view.search must have/);
    t.same((await read({ search: 'no such thing', orderBy: 'name', descending: false, filters: {} }, 0, '')).ids, []);
    const {
      ids: [some],
    } = await read({ search: '', orderBy: '', descending: false, filters: {} }, 1, '');
    t.same(
      (await read({ search: some!, orderBy: '', descending: false, filters: {} }, 5, '')).ids,
      [some],
      `${name}: one is found by its id`,
    );
  }
  const names = await call(
    clients.endpoints,
    'listEndpoints',
    { view: { search: '', orderBy: 'name', descending: false, filters: {} } },
    key,
  );
  t.match(
    names.endpoints.map(({ name }) => name.split(' ')[0]),
    ['alpha', 'Beta', 'gamma_100%'],
    'whatever their case',
  );
  t.equal(
    (await lists['endpoints']!.read({ search: 'A_100%', orderBy: '', descending: false, filters: {} }, 0, '')).ids
      .length,
    1,
    'text, no pattern',
  );
  t.ok(
    (await lists['audit']!.read({ search: 'createtemplate', orderBy: '', descending: false, filters: {} }, 0, '')).ids
      .length === 6,
  );
  t.equal(
    (await lists['templates']!.read({ search: 'llm:', orderBy: '', descending: false, filters: {} }, 0, '')).ids.length,
    1,
  );
});
