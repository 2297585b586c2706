/** Billing in REST v2: the usage of each period and its cost by the operator's price table. Amounts are US dollars. */

import type { UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import { ListUsageRequest, UsageGrouping, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { Type } from 'typebox';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { moment, named } from '../schema-parts.ts';
import type { Period } from './period.ts';
import { endOf, PeriodQuery, periodOf } from './period.ts';

const TAG = { tag: 'billing' };
const ID_LENGTH_MAX = 191;

type Amounts = Record<string, number>;
/** A record of a response: amounts, and texts beside them. */
type AnsweredRecord = Record<string, number | string>;

/** A kind of billing: names of its amounts, and the resource that a record is about. */
interface Kind {
  operationId: string;
  path: string;
  summary: string;
  /** Names of amounts, the total first. The second one is the amount by the price table of what has GPUs. */
  amounts: readonly [string, string, ...string[]];
  /** The metered resource. */
  usage: UsageKind;
  grouping: UsageGrouping;
  /** Name of the amount of what has no GPU. */
  withoutGpu: string;
  /** Name of the resource in records and in the query. `count`: name of its count in the metadata. */
  thing: string;
  count: string;
}

const KINDS: readonly Kind[] = [
  {
    operationId: 'ListPodBilling',
    path: '/v2/billing/pods',
    summary: 'Billing of pods',
    usage: UsageKind.POD,
    grouping: UsageGrouping.SUBJECT,
    amounts: ['totalAmount', 'gpuAmount', 'cpuAmount', 'diskAmount'],
    withoutGpu: 'cpuAmount',
    thing: 'podId',
    count: 'uniquePodCount',
  },
  {
    operationId: 'ListServerlessBilling',
    path: '/v2/billing/serverless',
    summary: 'Billing of endpoints (the time of their workers)',
    usage: UsageKind.WORKER,
    grouping: UsageGrouping.ENDPOINT,
    amounts: ['totalAmount', 'gpuAmount', 'cpuAmount', 'diskAmount', 'feeAmount'],
    withoutGpu: 'cpuAmount',
    thing: 'serverlessId',
    count: 'uniqueServerlessCount',
  },
  {
    operationId: 'ListNetworkVolumeBilling',
    path: '/v2/billing/network-volumes',
    summary: 'Billing of network volumes',
    usage: UsageKind.NETWORK_VOLUME,
    grouping: UsageGrouping.SUBJECT,
    amounts: ['totalAmount', 'standardAmount', 'highPerformanceAmount'],
    withoutGpu: 'standardAmount',
    thing: 'networkVolumeId',
    count: 'uniqueNetworkVolumeCount',
  },
];

/** Amounts of the whole account. Resources that cost nothing here have 0. */
const ALL_AMOUNTS = [
  'totalAmount',
  'podGpuAmount',
  'podCpuAmount',
  'podDiskAmount',
  'serverlessGpuAmount',
  'serverlessCpuAmount',
  'serverlessDiskAmount',
  'serverlessFeeAmount',
  'storageStandardAmount',
  'storageHighPerformanceAmount',
  'endpointAmount',
  'clusterGpuAmount',
  'clusterDiskAmount',
  'clusterNetworkingAmount',
] as const;
/** Amounts of the account by resource: with GPUs, and without, where that is another one. */
const ACCOUNT_AMOUNTS: Readonly<Record<string, readonly [string, string]>> = {
  podId: ['podGpuAmount', 'podCpuAmount'],
  serverlessId: ['serverlessGpuAmount', 'serverlessCpuAmount'],
  networkVolumeId: ['storageStandardAmount', 'storageStandardAmount'],
};

/** The operations. */
export const billingOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListBilling',
    method: 'GET',
    path: '/v2/billing',
    summary: 'Billing of everything, by period',
    query: PeriodQuery,
    status: 200,
    errors: [400],
    answer: shapeOf('Billing', ALL_AMOUNTS),
    handle: async (call, parts) => {
      const period = periodOf(call.query, parts.clock.nowMs());
      const found = await Promise.all(
        KINDS.map(async (kind) => ({ kind, records: await usageOf(call, parts, kind, period, '') })),
      );
      const byStart = new Map<string, Amounts>();
      for (const { kind, records } of found)
        for (const record of records) add(byStart, record, ACCOUNT_AMOUNTS[kind.thing]!);
      const records = [...byStart]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([start, amounts]) => recordOf(new Date(start), period, amounts));
      return { records, metadata: metadataOf(period, records, ALL_AMOUNTS, {}, {}) };
    },
  }),
  ...KINDS.map((kind) =>
    operation({
      ...TAG,
      id: kind.operationId,
      method: 'GET',
      path: kind.path,
      summary: kind.summary,
      status: 200,
      errors: [400],
      query: Type.Object({
        ...PeriodQuery.properties,
        [kind.thing]: Type.Optional(
          Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX, description: 'Only the resource with this id.' }),
        ),
      }),
      answer: shapeOf(kind.operationId.replace(/^List/, ''), kind.amounts, kind.thing, kind.count),
      handle: async (call, parts) => {
        const period = periodOf(call.query, parts.clock.nowMs());
        const asked = (call.query as Record<string, unknown>)[kind.thing] as string | undefined;
        const usage = await usageOf(call, parts, kind, period, asked ?? '');
        const records = usage.map((record) => {
          const zero = Object.fromEntries(kind.amounts.map((name) => [name, 0]));
          const amounts: Amounts = { ...zero, [kind.amounts[0]]: record.amountUsd };
          addSplit(amounts, record, kind.amounts[1], kind.withoutGpu);
          return { ...recordOf(record.startTime!, period, amounts), [kind.thing]: thingOf(record) };
        });
        const count = { [kind.count]: new Set(usage.map(thingOf)).size };
        return { records, metadata: metadataOf(period, records, kind.amounts, { [kind.thing]: asked ?? null }, count) };
      },
    }),
  ),
  ...['endpoints', 'clusters'].map((of) =>
    operation({
      ...TAG,
      id: of === 'endpoints' ? 'ListEndpointBilling' : 'ListClusterBilling',
      method: 'GET',
      path: `/v2/billing/${of}`,
      summary:
        of === 'endpoints'
          ? "Billing of public endpoints: none; for one's own see /v2/billing/serverless"
          : 'Billing of clusters: none',
      query: PeriodQuery,
      status: 200,
      errors: [400],
      answer: shapeOf(of === 'endpoints' ? 'EndpointBilling' : 'ClusterBilling', ['totalAmount']),
      handle: async (call, { clock }) => ({
        records: [],
        metadata: metadataOf(periodOf(call.query, clock.nowMs()), [], ['totalAmount'], {}, {}),
      }),
    }),
  ),
];

async function usageOf(
  call: Call<object, unknown>,
  { core }: RestV2Parts,
  { usage: kind, grouping }: Kind,
  { bucket, startTime, endTime }: Period,
  id: string,
): Promise<UsageRecord[]> {
  const one = grouping === UsageGrouping.ENDPOINT ? { endpointId: id } : { subjectId: id };
  const asked = ListUsageRequest.fromPartial({ kind, grouping, bucket, startTime, endTime, ...one });
  return (await core.usage.call((client) => client.listUsage, asked, repeatable(call))).records;
}

function thingOf({ endpointId, subjectId }: UsageRecord): string {
  return endpointId || subjectId;
}

function add(byStart: Map<string, Amounts>, record: UsageRecord, [withGpu, without]: readonly [string, string]): void {
  const start = record.startTime!.toISOString();
  const amounts = byStart.get(start) ?? Object.fromEntries(ALL_AMOUNTS.map((each) => [each, 0]));
  amounts['totalAmount'] = (amounts['totalAmount'] ?? 0) + record.amountUsd;
  addSplit(amounts, record, withGpu, without);
  byStart.set(start, amounts);
}

/** Adds a record to the amounts of what had GPUs and of what had none. */
function addSplit(amounts: Amounts, record: UsageRecord, withGpu: string, without: string): void {
  const { amountUsd, withoutGpuUsd = 0 } = record;
  amounts[withGpu] = (amounts[withGpu] ?? 0) + amountUsd - withoutGpuUsd;
  amounts[without] = (amounts[without] ?? 0) + withoutGpuUsd;
}

function recordOf(start: Date, { bucketSize }: Period, amounts: Amounts): AnsweredRecord {
  return { startTime: start.toISOString(), endTime: endOf(start, bucketSize).toISOString(), ...amounts };
}

function metadataOf(
  { startTime, endTime, bucketSize }: Period,
  records: readonly AnsweredRecord[],
  amounts: readonly string[],
  asked: object,
  count: object,
): object {
  const totals = Object.fromEntries(
    amounts.map((name) => [name, records.reduce((sum, record) => sum + Number(record[name] ?? 0), 0)]),
  );
  const query = { startTime: startTime.toISOString(), endTime: endTime.toISOString(), bucketSize, ...asked };
  return { query, recordCount: records.length, ...count, totals };
}

function shapeOf(name: string, amounts: readonly string[], thing?: string, count?: string) {
  const shown = Object.fromEntries(amounts.map((each) => [each, Type.Number()]));
  const times = { startTime: moment('Beginning of the period.'), endTime: moment('End of the period.') };
  return named(
    `List${name}Response`,
    Type.Object({
      records: Type.Array(Type.Object({ ...times, ...shown, ...(thing && { [thing]: Type.String() }) })),
      metadata: Type.Object({
        query: Type.Object({ ...times, bucketSize: Type.String() }),
        recordCount: Type.Integer(),
        ...(count && { [count]: Type.Integer() }),
        totals: Type.Object(shown),
      }),
    }),
  );
}
