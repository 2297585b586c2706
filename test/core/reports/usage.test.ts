// test: postgres, 10 s
/**
 * Usage over gRPC: periods, groups, filters, prices, refusals. The spans are written by hand; what writes them has a
 * test of its own.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { ListUsageResponse, UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import { ListUsageRequest, UsageBucket, UsageGrouping, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(60_000);

const at = (text: string): Date => new Date(`${text}Z`);

interface SpanFields {
  kind?: string;
  subject: string;
  endpoint?: string;
  template?: string;
  image?: string;
  places?: string[];
  gpu?: string;
  disk?: number;
  price?: number;
  from: string;
  to?: string;
  account?: string;
}

const addSpan = (core: CoreReplicas, span: SpanFields) => core.sql`
  INSERT INTO usage_span
    (account_id, kind, subject_id, endpoint_id, template_id, image_name, locations, gpu_type_id, disk_gb, usd_per_hour, started_at, ended_at)
  VALUES (${span.account ?? core.accountId}, ${span.kind ?? 'WORKER'}, ${span.subject}, ${span.endpoint ?? ''}, ${span.template ?? ''}, ${span.image ?? ''},
    ${span.places ?? []}, ${span.gpu ?? ''}, ${span.disk ?? 0}, ${span.price ?? 0}, ${at(span.from)}, ${span.to ? at(span.to) : null})`;

const answer = (core: CoreReplicas, fields: Partial<ListUsageRequest>, key = core.key) => {
  const request = ListUsageRequest.fromPartial({
    kind: UsageKind.WORKER,
    startTime: at('2026-01-01T00:00'),
    endTime: at('2027-01-01T00:00'),
    ...fields,
  });
  return call(core.clients.usage, 'listUsage', request, key);
};

const usage = async (core: CoreReplicas, fields: Partial<ListUsageRequest>, key = core.key) =>
  (await answer(core, fields, key)).records;

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

t.test('what still goes on counts up to now', async (t) => {
  const core = await startReplicas(t);
  await core.sql`
    INSERT INTO usage_span (account_id, kind, subject_id, usd_per_hour, started_at) VALUES (${core.accountId}, 'POD', 'p', 1, now() - interval '90 min')`;
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

t.test('prices', async (t) => {
  const core = await startReplicas(t);
  const set = (prices: { item: string; usdPerHour: number }[], key = core.rootKey) =>
    call(core.clients.usage, 'setPrices', { prices }, key);
  const list = async (key = core.key) => (await call(core.clients.usage, 'listPrices', {}, key)).prices;
  t.same(await list(), []);
  await set([
    { item: 'VOLUME_GB', usdPerHour: 0.0001 },
    { item: 'NVIDIA  A30', usdPerHour: 1 },
  ]);
  await set([
    { item: 'NVIDIA A30', usdPerHour: 2.5 },
    { item: 'CPU', usdPerHour: 0 },
  ]);
  t.same(await list(), [
    { item: 'CPU', usdPerHour: 0 },
    { item: 'NVIDIA A30', usdPerHour: 2.5 },
    { item: 'VOLUME_GB', usdPerHour: 0.0001 },
  ]);
  t.same(await list(await core.newKey(KeyScope.READ_ONLY)), await list());
  await set([]);
  t.match(await reasonOf(set([{ item: 'CPU', usdPerHour: 1 }], core.key)), /^UNAUTHORIZED/);
  const bad: [{ item: string; usdPerHour: number }[], RegExp][] = [
    [[{ item: '', usdPerHour: 1 }], /prices.item has 0/],
    [[{ item: ' ', usdPerHour: 1 }], /blank/],
    [[{ item: 'CPU', usdPerHour: -1 }], /is -1, but must be/],
    [[{ item: 'CPU', usdPerHour: 1_000_001 }], /1000000/],
    [[{ item: 'CPU', usdPerHour: Number.NaN }], /is NaN/],
    [
      [
        { item: 'CPU', usdPerHour: 9 },
        { item: 'CPU', usdPerHour: 1 },
      ],
      /named twice/,
    ],
    [Array.from({ length: 1_001 }, (_, i) => ({ item: `i${i}`, usdPerHour: 1 })), /may have 1000/],
  ];
  for (const [prices, why] of bad) t.match(await reasonOf(set(prices)), why);
  t.equal((await list()).find((price) => price.item === 'CPU')!.usdPerHour, 0, 'nothing was changed');
});

/** Workers that all began at the same time. */
const addMany = (core: CoreReplicas, count: number, hours: number) => core.sql`
  INSERT INTO usage_span (account_id, kind, subject_id, started_at, ended_at)
  SELECT ${core.accountId}, 'WORKER', 's' || n, '2026-03-01', timestamptz '2026-03-01' + ${hours}::int * interval '1 h'
  FROM generate_series(1, ${count}::int) n`;

t.test('what is too much to sum up is refused before it costs anything', async (t) => {
  const core = await startReplicas(t);
  await addMany(core, 1_000, 600);
  const hourly = { bucket: UsageBucket.HOUR, grouping: UsageGrouping.SUBJECT };
  t.match(await reasonOf(usage(core, hourly)), /^INVALID_REQUEST: this is too much to sum up at once/);
  t.match(
    await reasonOf(usage(core, { ...hourly, endTime: at('2026-03-05T00:00') })),
    /^INVALID_REQUEST: this is too much/,
    'too many records',
  );
  t.equal(
    (await usage(core, { ...hourly, grouping: UsageGrouping.GPU_TYPE, endTime: at('2026-03-05T00:00') })).length,
    96,
    'few groups',
  );
  t.equal((await usage(core, { ...hourly, subjectId: 's7' })).length, 600);
});

t.test('one account sums up a few times at once, and others go on meanwhile', async (t) => {
  const core = await startReplicas(t);
  await addMany(core, 400, 600);
  const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());
  const asked = { bucket: UsageBucket.HOUR, grouping: UsageGrouping.GPU_TYPE };
  const all = Array.from({ length: 12 }, () =>
    usage(core, asked).then(
      (records) => records.length,
      (error: Error) => error.message,
    ),
  );
  const other = await usage(core, asked, stranger);
  t.same(other, []);
  const answers = await Promise.all(all);
  t.equal(answers.filter((answer) => answer === 600).length, 4);
  t.equal(answers.filter((answer) => /try again shortly/.test(String(answer))).length, 8);
});

/** One worker in each month of 2026 for each of some endpoints: the n-th runs n hours, at a price that falls with n. */
const addMonths = async (core: CoreReplicas, count: number): Promise<void> => {
  await core.sql`
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, usd_per_hour, started_at, ended_at)
    SELECT ${core.accountId}, 'WORKER', 's' || n || '-' || m, 'e' || lpad(n::text, 4, '0'), 100.0 / (n * n), month, month + n * interval '1 h'
    FROM generate_series(1, ${count}::int) n, generate_series(0, 11) m, LATERAL (SELECT timestamptz '2026-01-01 00:00Z' + m * interval '1 month' AS month) d`;
};

t.test('pages in each order: each sum once, also when there are more than one answer may have', async (t) => {
  const core = await startReplicas(t);
  const monthly = { bucket: UsageBucket.MONTH, grouping: UsageGrouping.ENDPOINT };
  await addMonths(core, 30);
  const all = await answer(core, monthly);
  t.equal(all.records.length, 360);
  t.equal(all.nextPageToken, '', 'all at once unless a page is asked for');
  const keyOf = (record: UsageRecord): string => `${record.startTime!.toISOString()} ${record.endpointId}`;
  const orders: Readonly<Record<string, (record: UsageRecord) => number | string>> = {
    time: (record) => record.startTime!.getTime(),
    name: ({ endpointId }) => endpointId,
    billed_ms: ({ billedMs }) => billedMs,
    amount: ({ amountUsd }) => Math.round(amountUsd * 1e6),
  };
  for (const [orderBy, of] of Object.entries(orders)) {
    for (const descending of [false, true]) {
      const found: UsageRecord[] = [];
      const view = { search: '', orderBy, descending, filters: {} };
      let pages = 0;
      for (let pageToken: string | undefined = ''; pageToken !== undefined; pages += 1) {
        const page: ListUsageResponse = await answer(core, { ...monthly, pageSize: 100, pageToken, view });
        found.push(...page.records);
        t.same(page.totals, all.totals, 'totals are of all pages');
        pageToken = page.nextPageToken || undefined;
      }
      t.equal(pages, 4);
      t.same(found.map(keyOf).toSorted(), all.records.map(keyOf).toSorted(), `${orderBy}: each once`);
      const values = found.map(of);
      const isInOrder = (one: number | string, other: number | string): boolean =>
        descending ? one >= other : one <= other;
      t.ok(
        values.every((value, place) => place === 0 || isInOrder(values[place - 1]!, value)),
        `${orderBy} ${descending}`,
      );
    }
  }
  t.match(all.totals, { groupCount: 30, billedMs: 12 * 465 * 3_600_000 });
  const sum = all.records.reduce((usd, { amountUsd }) => usd + amountUsd, 0);
  t.ok(Math.abs(all.totals!.amountUsd - sum) < 1e-6);
  await core.sql`DELETE FROM usage_span`;
  await addMonths(core, 5_000);
  const [first, whole] = [
    await answer(core, {
      ...monthly,
      pageSize: 10,
      view: { search: '', orderBy: 'billed_ms', descending: true, filters: {} },
    }),
    await reasonOf(answer(core, monthly)),
  ];
  t.match(whole, /^INVALID_REQUEST: this is too much/, 'a year of 5,000 endpoints is too much for one answer');
  t.equal(first.records[0]!.endpointId, 'e5000', 'and has pages');
  t.equal(first.totals!.groupCount, 5_000);
});

t.test('the groups that cost most, and the others as one', async (t) => {
  const core = await startReplicas(t);
  await addMonths(core, 30);
  const monthly = { bucket: UsageBucket.MONTH, grouping: UsageGrouping.ENDPOINT };
  const { records, totals } = await answer(core, { ...monthly, top: 5 });
  t.equal(records.length, 12 * 6);
  const march = records.filter(({ startTime }) => startTime!.getTime() === at('2026-03-01T00:00').getTime());
  t.same(
    march.map(({ endpointId }) => endpointId),
    ['e0001', 'e0002', 'e0003', 'e0004', 'e0005', ''],
    'dearest first means e0001, 100 dollars an hour',
  );
  t.same(
    march.map(({ others }) => others),
    [false, false, false, false, false, true],
  );
  t.equal(march.at(-1)!.billedMs, (465 - 15) * 3_600_000, 'all that is left out');
  t.equal(
    records.reduce((ms, { billedMs }) => ms + billedMs, 0),
    totals!.billedMs,
    'nothing is lost',
  );
  t.equal(totals!.groupCount, 30);
  const few = await answer(core, { ...monthly, top: 30 });
  t.notOk(
    few.records.some(({ others }) => others),
    'no others, none told',
  );
  await core.sql`UPDATE usage_span SET usd_per_hour = 0`;
  const longest = await usage(core, { ...monthly, bucket: UsageBucket.YEAR, top: 2 });
  const what = 'without prices those of the most time';
  t.same(
    longest.map(({ endpointId, others }) => [endpointId, others]),
    [
      ['e0029', false],
      ['e0030', false],
      ['', true],
    ],
    what,
  );
});

t.test('sums are found by id and name of their group, and totals are of what was found', async (t) => {
  const core = await startReplicas(t);
  const [ocr, speech] = [
    await core.createEndpoint({ name: 'OCR of bills' }),
    await core.createEndpoint({ name: 'speech' }),
  ];
  const span = { from: '2026-05-01T00:00', to: '2026-05-01T01:00', price: 1 };
  for (const endpoint of [ocr, speech]) await addSpan(core, { ...span, subject: `of ${endpoint}`, endpoint });
  const find = async (search: string, grouping: UsageGrouping = UsageGrouping.ENDPOINT) => {
    const { records, totals } = await answer(core, {
      grouping,
      view: { search, orderBy: '', descending: false, filters: {} },
    });
    return [records.map(({ endpointId, subjectId }) => endpointId || subjectId), totals!.groupCount, totals!.amountUsd];
  };
  t.same(await find('of BILLS'), [[ocr], 1, 1]);
  t.same(await find(speech), [[speech], 1, 1]);
  t.same(await find(`of ${ocr}`, UsageGrouping.SUBJECT), [[`of ${ocr}`], 1, 1]);
  t.same(await find('nothing'), [[], 0, 0]);
});

t.test('pages that cannot be', async (t) => {
  const core = await startReplicas(t);
  await addMonths(core, 3);
  const view = (orderBy: string, filters = {}) => ({ search: '', orderBy, descending: false, filters });
  const { nextPageToken } = await answer(core, { pageSize: 1, view: view('amount') });
  const made = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
  const bad: [Partial<ListUsageRequest>, RegExp][] = [
    [{ view: view('disk_gb') }, /order_by is "disk_gb", but this list is ordered by amount, billed_ms, name, time/],
    [{ view: view('', { gpu: 'NVIDIA L4' }) }, /filtered by nothing/],
    [{ pageSize: 1_001 }, /page_size/],
    [{ pageToken: 'x' }, /page_token/],
    [{ pageToken: nextPageToken, view: view('time') }, /page_token/],
    [{ pageToken: made(['amount', false, 'much', '1 0 e']), view: view('amount') }, /page_token/],
    [{ pageToken: made(['amount', false, '1', 'e']), view: view('amount') }, /page_token/],
    [{ top: 0 }, /top is 0/],
    [{ top: 101 }, /top is 101/],
  ];
  for (const [fields, why] of bad) t.match(await reasonOf(answer(core, fields)), why, JSON.stringify(fields));
});
