/**
 * Billing of the REST surface: its requests to core and the form of its answers (docs/reference/management.md#billing).
 */

import { presentUsage, presentVolumeUsage } from '@slipway/facades/rest/billing/present-usage';
import { usageRequest } from '@slipway/facades/rest/billing/usage-request';
import { UsageBucket, UsageGrouping, UsageKind, UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import t from 'tap';

const day = (date: number): Date => new Date(Date.UTC(2026, 0, date));
const used = (fields: Partial<UsageRecord>): UsageRecord => UsageRecord.fromPartial({ startTime: day(1), ...fields });

t.test('the request', async (t) => {
  t.match(usageRequest(UsageKind.POD, {}, { grouping: UsageGrouping.GPU_TYPE }), {
    kind: UsageKind.POD,
    bucket: UsageBucket.DAY,
    grouping: UsageGrouping.GPU_TYPE,
    startTime: undefined,
    endTime: undefined,
    subjectId: '',
    gpuTypeIds: [],
  });
  const asked = usageRequest(UsageKind.WORKER, { bucketSize: 'week', startTime: '2026-01-01T02:00:00+02:00' }, {});
  t.equal(asked.bucket, UsageBucket.WEEK);
  t.same(asked.startTime, day(1), 'any zone');
  t.throws(() => usageRequest(UsageKind.POD, { endTime: '2016-12-31T23:59:60Z' }, {}), {
    reason: 'INVALID_REQUEST',
    message: /endTime/,
  });
});

t.test('a record carries the name of its group only', async (t) => {
  const record = used({ amountUsd: 1.5, billedMs: 60_000, diskGb: 50, subjectId: 'p', endpointId: 'e', gpuTypeId: '' });
  const rest = { amount: 1.5, time: '2026-01-01T00:00:00.000Z', timeBilledMs: 60_000, diskSpaceBilledGb: 50 };
  t.same(presentUsage(record, 'podId'), { ...rest, podId: 'p' });
  t.same(presentUsage(record, 'endpointId'), { ...rest, endpointId: 'e' });
  t.same(presentUsage(record, 'gpuTypeId'), { ...rest, gpuTypeId: '' }, 'also when it is empty');
});

t.test('volumes are summed up by period', async (t) => {
  const records = [
    used({ amountUsd: 1, diskGb: 10, subjectId: 'a' }),
    used({ amountUsd: 2, diskGb: 5, subjectId: 'b' }),
    used({ startTime: day(2), amountUsd: 4, diskGb: 10, subjectId: 'a' }),
  ];
  t.match(presentVolumeUsage(records), [
    { time: '2026-01-01T00:00:00.000Z', amount: 3, diskSpaceBilledGb: 15, highPerformanceStorageAmount: 0 },
    { time: '2026-01-02T00:00:00.000Z', amount: 4, diskSpaceBilledGb: 10 },
  ]);
  t.same(presentVolumeUsage([]), []);
});
