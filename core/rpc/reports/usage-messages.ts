/** Converts usage between the contract and the domain. */

import type { ListUsageRequest, UsageRecord as UsageMessage } from '@slipway/proto/gen/slipway/v1/usage_service';
import { UsageBucket, UsageGrouping, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import type { UsageQuery, UsageRecord } from '../../domain/reports/usage.ts';
import { checkText, checkTexts, invalid } from '../../domain/settings/fields.ts';
import type { UsageRequest } from '../../reports/usage-and-prices.ts';

const KINDS: Record<UsageKind, UsageQuery['kind'] | undefined> = {
  [UsageKind.UNSPECIFIED]: undefined,
  [UsageKind.WORKER]: 'WORKER',
  [UsageKind.POD]: 'POD',
  [UsageKind.NETWORK_VOLUME]: 'VOLUME',
};
const BUCKETS: Record<UsageBucket, UsageQuery['bucket']> = {
  [UsageBucket.UNSPECIFIED]: 'day',
  [UsageBucket.HOUR]: 'hour',
  [UsageBucket.DAY]: 'day',
  [UsageBucket.WEEK]: 'week',
  [UsageBucket.MONTH]: 'month',
  [UsageBucket.YEAR]: 'year',
};
const GROUPINGS: Record<UsageGrouping, UsageQuery['grouping']> = {
  [UsageGrouping.UNSPECIFIED]: 'SUBJECT',
  [UsageGrouping.SUBJECT]: 'SUBJECT',
  [UsageGrouping.ENDPOINT]: 'ENDPOINT',
  [UsageGrouping.GPU_TYPE]: 'GPU_TYPE',
  [UsageGrouping.ACCOUNT]: 'ACCOUNT',
};

/** Converts a usage query. Throws INVALID_REQUEST if a value is unknown or cannot be searched for. */
export function usageRequestFromMessage(request: ListUsageRequest): UsageRequest {
  const { subjectId, endpointId, templateId, imageName, gpuTypeIds, dataCenterIds } = request;
  const texts = { subject_id: subjectId, endpoint_id: endpointId, template_id: templateId, image_name: imageName };
  for (const [field, text] of Object.entries(texts)) checkText(field, text);
  checkTexts('gpu_type_ids', gpuTypeIds);
  checkTexts('data_center_ids', dataCenterIds);
  return {
    kind: known('kind', KINDS[request.kind]),
    bucket: known('bucket', BUCKETS[request.bucket]),
    grouping: known('grouping', GROUPINGS[request.grouping]),
    startMs: request.startTime?.getTime(),
    endMs: request.endTime?.getTime(),
    subjectId,
    endpointId,
    templateId,
    imageName,
    gpuTypeIds,
    dataCenterIds,
    top: request.top,
  };
}

/** Converts the sums of one period and group. */
export function usageToMessage(
  { startMs, group, ...sums }: UsageRecord,
  grouping: UsageQuery['grouping'],
): UsageMessage {
  return {
    ...sums,
    startTime: new Date(startMs),
    subjectId: grouping === 'SUBJECT' ? group : '',
    endpointId: grouping === 'ENDPOINT' ? group : '',
    gpuTypeId: grouping === 'GPU_TYPE' ? group : '',
    accountId: grouping === 'ACCOUNT' ? group : '',
  };
}

function known<Value>(field: string, value: Value | undefined): Value {
  if (value === undefined) throw invalid(`${field} has a value that this version does not know, or none`);
  return value;
}
