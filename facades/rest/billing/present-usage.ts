/** Usage of the contract to public billing records. */
import type { UsageRecord } from '@slipway/proto/gen/slipway/v1/usage_service';
import type { BillingRecord, VolumeBillingRecord } from './billing-schemas.ts';
import type { GROUPINGS } from './usage-request.ts';

/** Returns one record, named by its grouping. */
export function presentUsage(record: UsageRecord, grouping: keyof typeof GROUPINGS): BillingRecord {
  const name = { podId: record.subjectId, endpointId: record.endpointId, gpuTypeId: record.gpuTypeId }[grouping];
  return {
    amount: record.amountUsd,
    time: timeOf(record),
    timeBilledMs: record.billedMs,
    diskSpaceBilledGb: record.diskGb,
    [grouping]: name,
  };
}

/** Returns the sums of all volumes by period: this surface knows no single volumes. */
export function presentVolumeUsage(records: readonly UsageRecord[]): VolumeBillingRecord[] {
  const sum = (of: UsageRecord[], value: (record: UsageRecord) => number): number =>
    of.reduce((all, record) => all + value(record), 0);
  return [...Map.groupBy(records, timeOf)].map(([time, of]) => ({
    amount: sum(of, (record) => record.amountUsd),
    time,
    diskSpaceBilledGb: sum(of, (record) => record.diskGb),
    highPerformanceStorageAmount: 0,
    highPerformanceStorageDiskSpaceBilledGb: 0,
  }));
}

function timeOf({ startTime }: UsageRecord): string {
  return startTime?.toISOString() ?? '';
}
