/** GET /v1/billing/pods (docs/reference/management.md#billing). */
import { UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answers, errors } from '../rest-parts.ts';
import type { BillingRecord } from './billing-schemas.ts';
import { PodBillingQuery } from './billing-schemas.ts';
import { presentUsage } from './present-usage.ts';
import { GROUPINGS, usageRequest } from './usage-request.ts';

/** Adds the route. */
export function podBilling(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'PodBilling',
    tags: ['billing'],
    summary: 'Billing history of pods',
    querystring: PodBillingQuery,
    response: { 200: answers<BillingRecord>('BillingRecord'), ...errors() },
  };
  app.get(
    '/v1/billing/pods',
    { schema, onRequest: gate, preValidation: readQuery(PodBillingQuery) },
    async (request) => {
      const { grouping = 'gpuTypeId', podId = '', gpuTypeId, ...period } = request.query;
      const asked = usageRequest(UsageKind.POD, period, {
        grouping: GROUPINGS[grouping],
        subjectId: podId,
        gpuTypeIds: gpuTypeId === undefined ? [] : [gpuTypeId],
      });
      const { records } = await core.usage.call((client) => client.listUsage, asked, {
        apiKey: request.caller.apiKey,
        repeatable: true,
      });
      return records.map((record) => presentUsage(record, grouping));
    },
  );
}
