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
  bucketSize: Type.Optional(oneOf(['hour', 'day', 'week', 'month', 'year'], 'Length of a period, in UTC.', 'day')),
  startTime: Time('Beginning of the report, ISO 8601. Default: 30 days ago.'),
  endTime: Time('End of the report, ISO 8601. Default: now.'),
};
export type BillingPeriod = {
  bucketSize?: 'hour' | 'day' | 'week' | 'month' | 'year';
  startTime?: string;
  endTime?: string;
};

/** Query of GET /billing/pods. */
export const PodBillingQuery = Type.Object({
  ...period,
  grouping: Type.Optional(oneOf(['podId', 'gpuTypeId'], 'What the amounts of a period are grouped by.', 'gpuTypeId')),
  podId: only('this pod'),
  gpuTypeId: only('this GPU type'),
});

/** Query of GET /billing/endpoints. */
export const EndpointBillingQuery = Type.Object({
  ...period,
  grouping: Type.Optional(
    oneOf(['endpointId', 'podId', 'gpuTypeId'], 'What the amounts of a period are grouped by.', 'endpointId'),
  ),
  endpointId: only('this endpoint'),
  dataCenterId: anyOf('these data centres'),
  gpuTypeId: anyOf('these GPU types'),
  imageName: only('pods and workers of this image'),
  templateId: only('pods and workers of this template'),
});

/** Query of GET /billing/networkvolumes. */
export const VolumeBillingQuery = Type.Object(period);

const amount = Type.Number({ description: "Cost in US dollars, by the operator's price table." });
const time = Type.String({ description: 'Beginning of the period: ISO 8601 in UTC with milliseconds.' });

/** Usage of one group in one period. */
export const BillingRecord = Type.Object(
  {
    amount,
    time,
    timeBilledMs: Type.Integer({ description: 'Run time in milliseconds, added up over all pods or workers.' }),
    diskSpaceBilledGb: Type.Integer({ description: 'Largest disk of the group, in GB.' }),
    endpointId: Type.Optional(Type.String({ description: 'The endpoint. Present with grouping=endpointId.' })),
    podId: Type.Optional(Type.String({ description: 'The pod. Present with grouping=podId.' })),
    gpuTypeId: Type.Optional(
      Type.String({
        description: 'The GPU type. Present with grouping=gpuTypeId; empty for pods and workers without a GPU.',
      }),
    ),
  },
  { $id: 'BillingRecord' },
);
export type BillingRecord = Static<typeof BillingRecord>;

/** Usage of all network volumes in one period. */
export const VolumeBillingRecord = Type.Object(
  {
    amount,
    time,
    diskSpaceBilledGb: Type.Integer({ description: 'Size of all volumes together, in GB.' }),
    highPerformanceStorageAmount: Type.Number({ description: 'Always 0: there is one kind of storage.' }),
    highPerformanceStorageDiskSpaceBilledGb: Type.Integer({ description: 'Always 0.' }),
  },
  { $id: 'NetworkVolumeBillingRecord' },
);
export type VolumeBillingRecord = Static<typeof VolumeBillingRecord>;
