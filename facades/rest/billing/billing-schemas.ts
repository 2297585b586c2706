/**
 * Shapes of billing history (docs/reference/management.md#billing). They validate requests, serialize responses and
 * make the OpenAPI document.
 */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { oneOf } from '../../resources/one-of.ts';
import { anyOf, only } from '../filter.ts';

const Time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

/** Which periods: all three queries share it. */
const period = {
  bucketSize: Type.Optional(oneOf(['hour', 'day', 'week', 'month', 'year'], 'Length of a period, by UTC.', 'day')),
  startTime: Time('ISO 8601. Default: 30 days ago.'),
  endTime: Time('ISO 8601. Default: now.'),
};
export type BillingPeriod = {
  bucketSize?: 'hour' | 'day' | 'week' | 'month' | 'year';
  startTime?: string;
  endTime?: string;
};

/** Query of GET /billing/pods. */
export const PodBillingQuery = Type.Object({
  ...period,
  grouping: Type.Optional(oneOf(['podId', 'gpuTypeId'], 'By what it is summed up within a period.', 'gpuTypeId')),
  podId: only('this pod'),
  gpuTypeId: only('this GPU type'),
});

/** Query of GET /billing/endpoints. */
export const EndpointBillingQuery = Type.Object({
  ...period,
  grouping: Type.Optional(
    oneOf(['endpointId', 'podId', 'gpuTypeId'], 'By what it is summed up within a period.', 'endpointId'),
  ),
  endpointId: only('this endpoint'),
  dataCenterId: anyOf('these data centres'),
  gpuTypeId: anyOf('these GPU types'),
  imageName: only('what ran this image'),
  templateId: only('what ran this template'),
});

/** Query of GET /billing/networkvolumes. */
export const VolumeBillingQuery = Type.Object(period);

const amount = Type.Number({ description: "US dollars, by the operator's price table." });
const time = Type.String({ description: 'When the period begins: ISO 8601 in UTC with milliseconds.' });

/** Usage of one group in one period. */
export const BillingRecord = Type.Object(
  {
    amount,
    time,
    timeBilledMs: Type.Integer({ description: 'Milliseconds, each pod or worker counted for itself.' }),
    diskSpaceBilledGb: Type.Integer({ description: 'The largest disk of the group.' }),
    endpointId: Type.Optional(Type.String({ description: 'With grouping=endpointId.' })),
    podId: Type.Optional(Type.String({ description: 'With grouping=podId.' })),
    gpuTypeId: Type.Optional(Type.String({ description: 'With grouping=gpuTypeId; empty for what has no GPU.' })),
  },
  { $id: 'BillingRecord' },
);
export type BillingRecord = Static<typeof BillingRecord>;

/** Usage of all network volumes in one period. */
export const VolumeBillingRecord = Type.Object(
  {
    amount,
    time,
    diskSpaceBilledGb: Type.Integer({ description: 'Of all volumes together.' }),
    highPerformanceStorageAmount: Type.Number({ description: 'Always 0: there is one kind of storage.' }),
    highPerformanceStorageDiskSpaceBilledGb: Type.Integer({ description: 'Always 0.' }),
  },
  { $id: 'NetworkVolumeBillingRecord' },
);
export type VolumeBillingRecord = Static<typeof VolumeBillingRecord>;
