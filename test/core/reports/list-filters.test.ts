// test: postgres, 10 s
/**
 * Filters of lists by their fields, over gRPC: each value finds its own entries and no others; a value that a field
 * never has is rejected.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { ListAuditEventsRequest } from '@slipway/proto/gen/slipway/v1/audit_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { ListView } from '@slipway/proto/gen/slipway/v1/list_view';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const viewOf = (filters: Record<string, string>, search = ''): ListView => ({
  search,
  orderBy: '',
  descending: false,
  filters,
});

/** Returns the names that a list finds by a filter, in any order. */
type Finds = (filters: Record<string, string>) => Promise<string[]>;

/** Checks that each `filter=value` finds these names, and that other values and fields are rejected. */
async function finds(t: Test, name: string, find: Finds, expected: Record<string, string[]>): Promise<void> {
  for (const [asked, names] of Object.entries(expected)) {
    const filters = Object.fromEntries(new URLSearchParams(asked));
    t.same((await find(filters)).sort(), names.toSorted(), `${name} with ${asked}`);
  }
}

t.test('endpoints: by type, what they run on, whether they are paused, and by signs of trouble', async (t) => {
  const core = await startReplicas(t);
  const { sql } = core;
  const make = (name: string, fields: object) => core.createEndpoint({ name, workersMin: 0, ...fields });
  // There is no machine for the worker that it wants.
  await make('queue', { gpuIds: ['NVIDIA L4'], workersMin: 1 });
  await make('balanced', { type: EndpointType.LB, computeType: 'CPU' });
  const paused = await make('paused', { workersMax: 0 });
  await core.createEndpoint({ name: 'of another' }, await core.newKey(KeyScope.ALL, [], await core.newAccount()));
  await sql`UPDATE endpoint SET compute_type = 'CPU' WHERE name = 'balanced'`;
  const find: Finds = async (filters) =>
    (await call(core.clients.endpoints, 'listEndpoints', { view: viewOf(filters) }, core.key)).endpoints.map(
      ({ name }) => name.split(' ')[0]!,
    );
  await waitFor('the scaler to find no place', async () => (await find({ trouble: 'no_place' })).length > 0);
  await finds(t, 'endpoints', find, {
    'type=QB': ['queue', 'paused'],
    'type=LB': ['balanced'],
    'compute=CPU': ['balanced'],
    'compute=GPU': ['queue', 'paused'],
    'paused=yes': ['paused'],
    'paused=no': ['queue', 'balanced'],
    'trouble=no_place': ['queue'],
    'trouble=webhooks': [],
    'type=QB&paused=no': ['queue'],
  });
  const [{ templateId }] = await sql<
    [{ templateId: string }]
  >`SELECT template_id AS "templateId" FROM endpoint WHERE id = ${paused}`;
  t.same(await find({ template: templateId }), ['paused'], 'each has a template of its own');
  t.same(await find({ template: 'another' }), []);
  const { machineId } = await core.joinAgent();
  await sql`INSERT INTO worker (id, endpoint_id, machine_id, state, version)
    VALUES ('crashed1', ${paused}, ${machineId}, 'UNHEALTHY', 0)`;
  t.same(await find({ trouble: 'crashed' }), ['paused']);
  const refused: Record<string, string>[] = [
    { type: 'qb' },
    { type: '' },
    { paused: 'true' },
    { trouble: 'any' },
    { compute: 'TPU' },
  ];
  for (const filters of refused) {
    t.match(
      await reasonOf(find(filters)),
      /^INVALID_REQUEST: filters has .* but that must be one of /,
      JSON.stringify(filters),
    );
  }
  t.match(
    await reasonOf(find({ constructor: 'x' })),
    /^INVALID_REQUEST: filters has "constructor", but .* by compute, paused, template, trouble, type/,
  );
});

t.test('templates, volumes, keys, accounts and machines', async (t) => {
  const core = await startReplicas(t);
  const { clients, key, rootKey, sql } = core;
  await core.createTemplate({ name: 'of workers' });
  await core.createTemplate({ name: 'of pods', serverless: false, imageName: 'i' });
  await sql`UPDATE template SET public = true WHERE name = 'of pods'`;
  await finds(
    t,
    'templates',
    async (filters) =>
      (
        await call(clients.templates, 'listTemplates', { includePublic: false, view: viewOf(filters) }, key)
      ).templates.map(({ name }) => name),
    { 'kind=worker': ['of workers'], 'kind=pod': ['of pods'], 'public=yes': ['of pods'], 'public=no': ['of workers'] },
  );

  await core.createVolume('EU-CZ-1');
  await core.createVolume('US-TX-3');
  await finds(
    t,
    'volumes',
    async (filters) =>
      (await call(clients.volumes, 'listNetworkVolumes', { view: viewOf(filters) }, key)).networkVolumes.map(
        ({ dataCenterId }) => dataCenterId,
      ),
    { 'data_center=US-TX-3': ['US-TX-3'], 'data_center=US': [], "data_center=' OR true --": [] },
  );

  const idle = await core.newAccount('idle');
  await call(clients.access, 'setQuota', { accountId: idle, quota: { workers: 2 } }, rootKey);
  await core.createEndpoint({ workersMin: 0 });
  await finds(
    t,
    'accounts',
    async (filters) =>
      (await call(clients.access, 'listAccounts', { view: viewOf(filters) }, rootKey)).accounts.map(({ name }) => name),
    { 'quota=yes': ['idle'], 'quota=no': ['test'], 'endpoints=yes': ['test'], 'endpoints=no': ['idle'] },
  );
  t.match(
    await reasonOf(call(clients.access, 'listAccounts', { view: viewOf({ quota: 'all' }) }, rootKey)),
    /^INVALID_REQUEST: filters has "all" as quota/,
  );

  await machines(t, core);
  const keys: Finds = async (filters) =>
    (await call(clients.keys, 'listKeys', { accountId: '', all: true, view: viewOf(filters) }, rootKey)).keys.map(
      ({ machineId }) => machineId,
    );
  await finds(t, 'join keys', keys, {
    'joined=yes': ['listed000001', 'listed000002', 'listed000003'],
    'joined=no': [''],
    'joined=yes&revoked=yes': ['listed000003'],
  });
  t.match(
    await reasonOf(keys({ revoked: 'maybe' })),
    /^INVALID_REQUEST: filters has "maybe" as revoked, but that must be one of yes, no/,
  );
  const pods = { includeWorkers: false, endpointId: '', endpointIds: [] };
  const broken = call(clients.pods, 'listPods', { ...pods, view: viewOf({ state: 'BROKEN' }) }, key);
  t.match(await reasonOf(broken), /^INVALID_REQUEST: filters has "BROKEN" as state/);
});

async function machines(t: Test, { joinAgent, clients, rootKey, sql }: CoreReplicas): Promise<void> {
  const gpu = (uuid: string, name: string, migProfile = '') => ({ uuid, name, memoryMib: 24_576, migProfile });
  await joinAgent({ machineId: 'listed000001', gpus: [gpu('a', 'NVIDIA L4'), gpu('b', 'NVIDIA A30', '1g.6gb')] });
  await joinAgent({ machineId: 'listed000002', gpus: [gpu('c', 'NVIDIA GeForce RTX 4090')] });
  const away = await joinAgent({ machineId: 'listed000003' });
  away.drop();
  await sql`UPDATE machine SET lease_expires_at = now() - interval '1 s', session_id = NULL
    WHERE id = ${away.machineId}`;
  await sql`UPDATE api_key SET revoked_at = now() WHERE machine_id = ${away.machineId}`;
  await call(clients.machines, 'cordonMachine', { id: 'listed000002', cordoned: true }, rootKey);
  const find: Finds = async (filters) =>
    (await call(clients.machines, 'listMachines', { view: viewOf(filters) }, rootKey)).machines.map(({ machine }) =>
      machine!.id.slice(-1),
    );
  await finds(t, 'machines', find, {
    'state=here': ['1', '2'],
    'state=away': ['3'],
    'state=cordoned': ['2'],
    'state=revoked': ['3'],
    'gpu=l4': ['1'],
    'gpu=A30 MIG 1g': ['1'],
    'gpu=4090': ['2'],
    'gpu=%': [],
    'state=here&gpu=nvidia': ['1', '2'],
  });
  t.match(
    await reasonOf(find({ state: 'gone' })),
    /^INVALID_REQUEST: filters has "gone" as state, but that must be one of here, away, cordoned, revoked/,
  );
}

t.test('decisions of a scaler, and changes until a time', async (t) => {
  const core = await startReplicas(t);
  const { clients, key, sql } = core;
  const endpointId = await core.createEndpoint({ workersMin: 0, workersMax: 0 });
  const limits = JSON.stringify([{ limit: 'QUOTA', cut: 1, text: 'the account has 2 of at most 2 workers' }]);
  const log = (reason: string, cut: string, actions: string) => sql`
    INSERT INTO scale_log (endpoint_id, target, wished, throttled, reason, limits, numbers, actions, refusal,
      refusal_by_machine, sample_bytes)
    VALUES (${endpointId}, 1, 1, 0, ${reason}, ${cut}::text::jsonb,
      '{"queued":0,"oldestWaitMs":0,"running":0,"workers":{"present":0}}',
      ${actions}::text::jsonb, '', '', 0)`;
  await log('first of the test', limits, '[]');
  await log('second of the test', '[]', '[{"do":"DRAIN","workerId":"w"}]');
  const ask = (view: ListView, beforeId = 0) =>
    call(clients.endpoints, 'listDecisions', { endpointId, pageSize: 0, beforeId, view }, key);
  const reasons = async (filters: Record<string, string>, search = 'of the test', beforeId = 0): Promise<string[]> =>
    (await ask(viewOf(filters, search), beforeId)).decisions.map(({ reason }) => reason.split(' ')[0]!);
  t.same(await reasons({}), ['second', 'first'], 'the latest first');
  t.same(await reasons({ acts: 'yes' }), ['second']);
  t.same(await reasons({ acts: 'no' }), ['first']);
  t.same(await reasons({ limit: 'QUOTA' }), ['first']);
  t.same(await reasons({ limit: 'NO_PLACE' }), []);
  t.same(await reasons({}, 'AT MOST 2'), ['first'], 'what cut it is searched too');
  const {
    decisions: [latest],
  } = await ask(viewOf({}, 'second of'));
  t.same(await reasons({}, 'of the test', latest!.id), ['first'], 'page by page');
  const refused: Record<string, string>[] = [{ limit: 'QUEUE_LENGTH' }, { acts: '1' }, { reason: 'x' }];
  for (const filters of refused) t.match(await reasonOf(reasons(filters)), /^INVALID_REQUEST: filters has/);
  t.match(
    await reasonOf(ask({ ...viewOf({}), orderBy: 'reason' })),
    /^INVALID_REQUEST: view.order_by and view.descending must be empty/,
  );
  t.match(await reasonOf(reasons({}, 'x'.repeat(201))), /^INVALID_REQUEST: view.search must have at most 200/);

  const events = async (request: Partial<ListAuditEventsRequest>): Promise<string[]> => {
    const asked = ListAuditEventsRequest.fromPartial({ subjectId: endpointId, ...request });
    return (await call(clients.audit, 'listAuditEvents', asked, key)).events.map(({ action }) => action);
  };
  await sql`UPDATE audit_event SET at = now() - interval '2 hours' WHERE subject_id = ${endpointId}`;
  const before = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  await core.updateEndpoint(endpointId, { name: 'renamed' });
  t.same(await events({}), ['UpdateEndpoint', 'CreateEndpoint']);
  t.same(await events({ untilTime: before(1) }), ['CreateEndpoint']);
  t.same(await events({ sinceTime: before(1) }), ['UpdateEndpoint']);
  t.same(await events({ sinceTime: before(1.5), untilTime: before(1) }), []);
  t.match(
    await reasonOf(events({ sinceTime: before(1), untilTime: before(2) })),
    /^INVALID_REQUEST: until_time must be after since_time/,
  );
});

t.test('webhook calls of a job by their state', async (t) => {
  const core = await startReplicas(t);
  const { clients, key, sql } = core;
  const endpointId = await core.createEndpoint({ workersMin: 0, workersMax: 0 });
  const { id: jobId } = await core.submit(endpointId);
  await sql`INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives) VALUES
    (${endpointId}, ${jobId}, 1, false, 3, 'no answer', 0), (${endpointId}, ${jobId}, 2, true, 1, '', 0)`;
  const ask = (view: ListView) => call(clients.jobs, 'listWebhookDeliveries', { endpointId, jobId, view }, key);
  const tries = async (filters: Record<string, string>): Promise<number[]> =>
    (await ask(viewOf(filters))).deliveries.map((delivery) => delivery.tries);
  t.same(await tries({}), [1, 3], 'the newest first');
  t.same(await tries({ state: 'GIVEN_UP' }), [3]);
  t.same(await tries({ state: 'DELIVERED' }), [1]);
  t.same(await tries({ state: 'WAITING' }), []);
  t.match(
    await reasonOf(ask(viewOf({ state: 'LOST' }))),
    /^INVALID_REQUEST: filters has "LOST" as state, but that must be one of WAITING, /,
  );
  t.match(
    await reasonOf(ask(viewOf({ url: 'x' }))),
    /^INVALID_REQUEST: filters has "url", but this list is filtered by state/,
  );
  t.match(await reasonOf(ask(viewOf({}, 'x'))), /^INVALID_REQUEST: view.search must be empty/);
});
