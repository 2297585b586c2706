/** GET /v1/billing/networkvolumes (docs/reference/management.md#billing). */
import { UsageGrouping, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answers, errors } from '../rest-parts.ts';
import type { VolumeBillingRecord } from './billing-schemas.ts';
import { VolumeBillingQuery } from './billing-schemas.ts';
import { presentVolumeUsage } from './present-usage.ts';
import { usageRequest } from './usage-request.ts';

/** Adds the route. */
export function volumeBilling(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'NetworkVolumeBilling',
    tags: ['billing'],
    summary: 'Billing history of network volumes',
    querystring: VolumeBillingQuery,
    response: { 200: answers<VolumeBillingRecord>('NetworkVolumeBillingRecord'), ...errors() },
  };
  app.get(
    '/v1/billing/networkvolumes',
    { schema, onRequest: gate, preValidation: readQuery(VolumeBillingQuery) },
    async (request) => {
      const asked = usageRequest(UsageKind.NETWORK_VOLUME, request.query, { grouping: UsageGrouping.SUBJECT });
      const { records } = await core.usage.call((client) => client.listUsage, asked, {
        apiKey: request.caller.apiKey,
        repeatable: true,
      });
      return presentVolumeUsage(records);
    },
  );
}
