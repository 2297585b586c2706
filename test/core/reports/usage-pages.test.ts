// test: postgres
/** Usage page by page, the groups that cost most, and the search for groups. */
import type { ListUsageResponse, UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import { type ListUsageRequest, UsageBucket, UsageGrouping } from '@slipway/proto/gen/slipway/v1/usage_service';
import t from 'tap';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { addSpan, answer, at, usage } from './usage-calls.ts';

t.setTimeout(600_000);

/** Inserts a worker in each month of 2026 for each endpoint. The n-th runs n hours, at a price that falls with n. */
const addMonths = async (core: CoreReplicas, count: number): Promise<void> => {
  await core.sql`
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, usd_per_hour, started_at, ended_at)
    SELECT ${core.accountId}, 'WORKER', 's' || n || '-' || m, 'e' || lpad(n::text, 4, '0'), 100.0 / (n * n), month,
      month + n * interval '1 h'
    FROM generate_series(1, ${count}::int) n, generate_series(0, 11) m,
      LATERAL (SELECT timestamptz '2026-01-01 00:00Z' + m * interval '1 month' AS month) d`;
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

t.test('impossible pages', async (t) => {
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
