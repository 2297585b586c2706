// test: postgres, 10 s
/**
 * Usage over gRPC: periods, groups, filters, errors, who sees what. The spans are written by hand; metering.test.ts
 * tests the code that writes them.
 */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import {
  type ListUsageRequest,
  UsageBucket,
  UsageGrouping,
  UsageKind,
} from '@slipway/proto/gen/slipway/v1/usage_service';
import t from 'tap';
import { grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { addSpan, at, usage } from './usage-calls.ts';

t.setTimeout(600_000);

t.test('spans are cut into periods of UTC', async (t) => {
  const core = await startReplicas(t);
  // A server that stands in another zone must not shift anything; every new connection reads this.
  await core.sql.unsafe(
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''Asia/Kolkata''', current_database()); END $$",
  );
  const clients = grpcClients((await core.startReplica()).address);
  t.teardown(() => clients.close());
  await addSpan(core, { subject: 'a', from: '2026-03-31T22:30', to: '2026-04-01T01:00', price: 2, disk: 5 });
  const rows = async (bucket: UsageBucket, more: Partial<ListUsageRequest> = {}) =>
    (await usage({ ...core, clients }, { bucket, ...more })).map((record) => [
      record.startTime!.toISOString().slice(0, 16),
      record.billedMs / 60_000,
      record.amountUsd,
    ]);
  t.same(
    await rows(UsageBucket.HOUR),
    [
      ['2026-03-31T22:00', 30, 1],
      ['2026-03-31T23:00', 60, 2],
      ['2026-04-01T00:00', 60, 2],
    ],
    'none of no length',
  );
  t.same(await rows(UsageBucket.DAY), [
    ['2026-03-31T00:00', 90, 3],
    ['2026-04-01T00:00', 60, 2],
  ]);
  t.same(await rows(UsageBucket.UNSPECIFIED), await rows(UsageBucket.DAY), 'a day unless it is said');
  t.same(await rows(UsageBucket.WEEK), [['2026-03-30T00:00', 150, 5]], 'from Monday');
  t.same(await rows(UsageBucket.MONTH), [
    ['2026-03-01T00:00', 90, 3],
    ['2026-04-01T00:00', 60, 2],
  ]);
  t.same(await rows(UsageBucket.YEAR), [['2026-01-01T00:00', 150, 5]]);
  t.same(
    await rows(UsageBucket.DAY, { startTime: at('2026-03-31T23:15'), endTime: at('2026-04-01T00:15') }),
    [
      ['2026-03-31T00:00', 45, 1.5],
      ['2026-04-01T00:00', 15, 0.5],
    ],
    'and what was asked for',
  );
  t.same(await rows(UsageBucket.DAY, { startTime: at('2026-04-01T01:00') }), []);
  const [record] = await usage(core, { bucket: UsageBucket.YEAR });
  t.match(record, { subjectId: 'a', endpointId: '', gpuTypeId: '', diskGb: 5 });
});

t.test('running spans count up to now', async (t) => {
  const core = await startReplicas(t);
  await core.sql`
    INSERT INTO usage_span (account_id, kind, subject_id, usd_per_hour, started_at)
      VALUES (${core.accountId}, 'POD', 'p', 1, now() - interval '90 min')`;
  const open = await usage(core, {
    kind: UsageKind.POD,
    bucket: UsageBucket.YEAR,
    startTime: undefined,
    endTime: undefined,
  });
  const sum = open.reduce((ms, record) => ms + record.billedMs, 0);
  t.ok(sum >= 90 * 60_000 && sum < 92 * 60_000, `${sum} ms`);
  const future = {
    startTime: undefined,
    endTime: at('2090-01-01T00:00'),
    kind: UsageKind.POD,
    bucket: UsageBucket.YEAR,
  };
  const later = (await usage(core, future)).reduce((ms, record) => ms + record.billedMs, 0);
  t.ok(later < 92 * 60_000, 'the future is not billed');
  await core.sql`UPDATE usage_span SET started_at = now() - interval '60 days', ended_at = now() - interval '10 days'`;
  const month = await usage(core, {
    kind: UsageKind.POD,
    bucket: UsageBucket.DAY,
    startTime: undefined,
    endTime: undefined,
  });
  const days = month.reduce((ms, record) => ms + record.billedMs, 0) / 86_400_000;
  t.ok(Math.abs(days - 20) < 0.01, `30 days back unless it is said: ${days}`);
});

t.test('groups and filters', async (t) => {
  const core = await startReplicas(t);
  const stranger = await core.newAccount();
  const span = { from: '2026-05-01T00:00', to: '2026-05-01T01:00', price: 1 };
  await addSpan(core, {
    ...span,
    subject: 'w1',
    endpoint: 'e1',
    template: 't1',
    image: 'i1',
    gpu: 'NVIDIA L4',
    places: ['EU-1'],
    disk: 10,
  });
  await addSpan(core, {
    ...span,
    subject: 'w2',
    endpoint: 'e1',
    template: 't1',
    image: 'i2',
    gpu: 'NVIDIA A30',
    places: ['EU-2', 'CZ'],
    disk: 20,
  });
  await addSpan(core, { ...span, subject: 'w3', endpoint: 'e2', template: 't2', image: 'i1', places: ['EU-1'] });
  await addSpan(core, { ...span, subject: 'p', kind: 'POD' });
  await addSpan(core, { ...span, subject: 'x', endpoint: 'e1', account: stranger });
  const named = async (fields: Partial<ListUsageRequest>) =>
    (await usage(core, fields)).map((record) => [
      record.subjectId || record.endpointId || record.gpuTypeId,
      record.billedMs / 3_600_000,
      record.diskGb,
    ]);
  t.same(await named({}), [
    ['w1', 1, 10],
    ['w2', 1, 20],
    ['w3', 1, 0],
  ]);
  t.same(
    await named({ grouping: UsageGrouping.ENDPOINT }),
    [
      ['e1', 2, 20],
      ['e2', 1, 0],
    ],
    'the largest disk of the group',
  );
  t.same(await named({ grouping: UsageGrouping.GPU_TYPE }), [
    ['', 1, 0],
    ['NVIDIA A30', 1, 20],
    ['NVIDIA L4', 1, 10],
  ]);
  const filters: [Partial<ListUsageRequest>, string[]][] = [
    [{ subjectId: 'w2' }, ['w2']],
    [{ endpointId: 'e1' }, ['w1', 'w2']],
    [{ gpuTypeIds: ['NVIDIA L4', 'NVIDIA  A30'] }, ['w1', 'w2']],
    [{ dataCenterIds: ['EU-2'] }, ['w2']],
    [{ dataCenterIds: ['EU-1', 'EU-2'] }, ['w1', 'w2', 'w3']],
    [{ templateId: 't2' }, ['w3']],
    [{ imageName: 'i1' }, ['w1', 'w3']],
    [{ imageName: 'i1', endpointId: 'e1' }, ['w1']],
    [{ kind: UsageKind.POD }, ['p']],
    [{ kind: UsageKind.NETWORK_VOLUME }, []],
    [{ subjectId: 'x' }, []],
  ];
  for (const [fields, subjects] of filters)
    t.same(
      (await named(fields)).map(([name]) => name),
      subjects,
      JSON.stringify(fields),
    );
});

t.test('a key for some endpoints sees what their workers used', async (t) => {
  const core = await startReplicas(t);
  const [shown, hidden] = [await core.createEndpoint(), await core.createEndpoint()];
  const span = { from: '2026-05-01T00:00', to: '2026-05-01T01:00' };
  await addSpan(core, { ...span, subject: 'w1', endpoint: shown });
  await addSpan(core, { ...span, subject: 'w2', endpoint: hidden });
  await addSpan(core, { ...span, subject: 'p', kind: 'POD' });
  const key = await core.newKey(KeyScope.ALL, [shown]);
  t.same(
    (await usage(core, { grouping: UsageGrouping.ENDPOINT }, key)).map(({ endpointId }) => endpointId),
    [shown],
  );
  t.same(await usage(core, { endpointId: hidden }, key), []);
  t.same(await usage(core, { subjectId: 'w2' }, key), []);
  t.equal((await usage(core, { grouping: UsageGrouping.GPU_TYPE }, key))[0]!.billedMs, 3_600_000);
  t.same(await usage(core, { kind: UsageKind.POD }, key), [], 'pods belong to no endpoint');
});

t.test('refusals', async (t) => {
  const core = await startReplicas(t);
  const bad: [Partial<ListUsageRequest>, RegExp][] = [
    [{ kind: UsageKind.UNSPECIFIED }, /^INVALID_REQUEST: kind has a value/],
    [{ kind: 9 as UsageKind }, /kind has a value/],
    [{ bucket: 9 as UsageBucket }, /bucket has a value/],
    [{ grouping: 9 as UsageGrouping }, /grouping has a value/],
    [{ startTime: at('2026-02-01T00:00'), endTime: at('2026-01-01T00:00') }, /must not be later/],
    [{ bucket: UsageBucket.HOUR, startTime: at('2020-01-01T00:00') }, /more than 10000 periods of one hour/],
    [{ kind: UsageKind.POD, grouping: UsageGrouping.ENDPOINT }, /for workers only/],
    [{ startTime: new Date(-1) }, /start_time must be/],
    [{ endTime: at('9999-12-31T23:59'), bucket: UsageBucket.DAY }, /more than 10000 periods/],
    [{ subjectId: 'a\0' }, /cannot be stored/],
    [{ gpuTypeIds: [''] }, /gpu_type_ids/],
  ];
  for (const [fields, why] of bad) t.match(await reasonOf(usage(core, fields)), why, JSON.stringify(fields));
  const tenThousand = {
    bucket: UsageBucket.HOUR,
    startTime: at('2026-01-01T00:00'),
    endTime: new Date(at('2026-01-01T00:00').getTime() + 10_000 * 3_600_000),
  };
  t.same(await usage(core, tenThousand), [], 'the most that is allowed');
  t.match(await reasonOf(usage(core, {}, core.agentKey)), /^UNAUTHORIZED/);
  t.match(await reasonOf(usage(core, { accountId: await core.newAccount() })), /^UNAUTHORIZED/, 'another account');
});

t.test('the operator sees all accounts, by account and by endpoint with their names', async (t) => {
  const core = await startReplicas(t);
  const other = await core.newAccount();
  const endpoint = await core.createEndpoint({ name: 'ocr', workersMin: 0 });
  const hour = { from: '2026-05-01T00:00', to: '2026-05-01T01:00' };
  await addSpan(core, { subject: 'a', endpoint, price: 1, ...hour });
  await addSpan(core, { subject: 'b', endpoint: 'deleted0000000', price: 2, ...hour, account: other });
  const nameOf = async (id: string) => (await core.sql`SELECT name FROM account WHERE id = ${id}`)[0]!.name as string;
  const [mine, theirs] = [await nameOf(core.accountId), await nameOf(other)];
  const of = async (fields: Partial<ListUsageRequest>, key = core.rootKey) =>
    (await usage(core, fields, key))
      .map(({ accountId, endpointId, groupName, amountUsd }) => [accountId || endpointId, groupName, amountUsd])
      .sort();
  t.same(
    await of({ grouping: UsageGrouping.ACCOUNT }),
    [
      [core.accountId, mine, 1],
      [other, theirs, 2],
    ].sort(),
  );
  t.same(
    await of({ grouping: UsageGrouping.ENDPOINT }),
    [
      [endpoint, 'ocr', 1],
      ['deleted0000000', '', 2],
    ].sort(),
  );
  t.same(await of({ grouping: UsageGrouping.ENDPOINT, accountId: other }), [['deleted0000000', '', 2]]);
  t.same(await of({ grouping: UsageGrouping.ACCOUNT }, core.key), [[core.accountId, mine, 1]], 'others see their own');
});
