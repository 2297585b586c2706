/** Rows of endpoints, and the filters of their list. */

import { sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Endpoint } from '../../domain/resources/endpoint.ts';
import { endpointEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import { openEnv } from '../sql/env-seals.ts';
import type { Filters } from '../sql/list-filter.ts';
import { whereValue, whereWord, whereYes } from '../sql/list-filter.ts';

/**
 * Filters of the list of endpoints. `trouble` has the problems of problem-store.ts that one statement finds by indexes.
 */
export const ENDPOINT_FILTERS: Filters = {
  type: whereValue(endpoint.type, ['QB', 'LB']),
  compute: whereValue(endpoint.computeType, ['GPU', 'CPU']),
  paused: whereYes(sql`${endpoint.workersMax} = 0`),
  template: whereValue(endpoint.templateId),
  trouble: whereWord({
    no_place: sql`EXISTS (SELECT FROM scale_decision d WHERE d.endpoint_id = ${endpoint.id} AND d.throttled > 0)`,
    crashed: sql`EXISTS (
      SELECT FROM worker w WHERE w.endpoint_id = ${endpoint.id} AND w.ended_at IS NULL AND w.endpoint_id <> ''
        AND w.state = 'UNHEALTHY')`,
    webhooks: sql`EXISTS (
      SELECT FROM webhook_result r WHERE r.endpoint_id = ${endpoint.id} AND NOT r.delivered
        AND r.ended_at > now() - interval '1 hour')`,
  }),
};

/** Returns an endpoint from its row, with its environment decrypted. */
export function endpointFromRow(sealer: Sealer, row: typeof endpoint.$inferSelect): Endpoint {
  const {
    requestId: _requestId,
    webhookSecretSealed: _sealed,
    secretNames: _names,
    envSealed,
    type,
    scalerType,
    flashBootType,
    flashBootStandby,
    computeType,
    ...rest
  } = row;
  return {
    ...rest,
    env: openEnv(sealer, { env: row.env, envSealed }, endpointEnvIdentity(row.id)),
    type: type as Endpoint['type'],
    scalerType: scalerType as Endpoint['scalerType'],
    flashBootType: flashBootType as Endpoint['flashBootType'],
    flashBootStandby: flashBootStandby as Endpoint['flashBootStandby'],
    computeType: computeType as Endpoint['computeType'],
  };
}
