/** GET /v1/billing/endpoints: the time of their workers (docs/reference/management.md#billing). */
import { UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answers, errors } from '../rest-parts.ts';
import type { BillingRecord } from './billing-schemas.ts';
import { EndpointBillingQuery } from './billing-schemas.ts';
import { presentUsage } from './present-usage.ts';
import { GROUPINGS, usageRequest } from './usage-request.ts';

/** Adds the route. */
export function endpointBilling(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'EndpointBilling',
    tags: ['billing'],
    summary: 'Billing history of endpoints',
    querystring: EndpointBillingQuery,
    response: { 200: answers<BillingRecord>('BillingRecord'), ...errors() },
  };
  app.get(
    '/v1/billing/endpoints',
    { schema, onRequest: gate, preValidation: readQuery(EndpointBillingQuery) },
    async (request) => {
      const {
        grouping = 'endpointId',
        endpointId,
        dataCenterId,
        gpuTypeId,
        imageName,
        templateId,
        ...period
      } = request.query;
      const asked = usageRequest(UsageKind.WORKER, period, {
        grouping: GROUPINGS[grouping],
        endpointId: endpointId ?? '',
        dataCenterIds: dataCenterId ?? [],
        gpuTypeIds: gpuTypeId ?? [],
        imageName: imageName ?? '',
        templateId: templateId ?? '',
      });
      const { records } = await core.usage.call((client) => client.listUsage, asked, {
        apiKey: request.caller.apiKey,
        repeatable: true,
      });
      return records.map((record) => presentUsage(record, grouping));
    },
  );
}
