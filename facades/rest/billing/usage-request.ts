/** Converts public billing queries to usage requests of the contract. */

import type { UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { ListUsageRequest, UsageBucket, UsageGrouping } from '@slipway/proto/gen/slipway/v1/usage_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { BillingPeriod } from './billing-schemas.ts';

const BUCKETS = {
  hour: UsageBucket.HOUR,
  day: UsageBucket.DAY,
  week: UsageBucket.WEEK,
  month: UsageBucket.MONTH,
  year: UsageBucket.YEAR,
};

/** Public words of the groupings of usage. */
export const GROUPINGS = {
  podId: UsageGrouping.SUBJECT,
  endpointId: UsageGrouping.ENDPOINT,
  gpuTypeId: UsageGrouping.GPU_TYPE,
};

/** Returns the request for a kind of usage in the periods of a query, with further fields. */
export function usageRequest(
  kind: UsageKind,
  period: BillingPeriod,
  more: Partial<ListUsageRequest>,
): ListUsageRequest {
  return ListUsageRequest.fromPartial({
    kind,
    bucket: BUCKETS[period.bucketSize ?? 'day'],
    startTime: timeOf('startTime', period.startTime),
    endTime: timeOf('endTime', period.endTime),
    ...more,
  });
}

/**
 * Parses a time. The schema checks only its form: a leap second, for instance, has a valid form but is no time of a
 * computer.
 */
function timeOf(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new CoreError('INVALID_REQUEST', `${name} is no time like 2026-01-31T12:00:00Z.`);
  return time;
}
