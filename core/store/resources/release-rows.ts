/** Writes the changes of endpoints, each in the transaction of its change. */
import { sql } from '@slipway/drizzle/orm';
import type { ReleaseValue } from '../../domain/resources/release-values.ts';
import type { Transaction } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';

/** Most changes that are stored for an endpoint. The oldest are deleted first. */
const KEPT_MAX = 1_000;

/** A change of one or more endpoints. */
interface NewRelease {
  keyId: string;
  /** Name of the RPC. */
  action: string;
  fields: readonly string[];
  /** Old and new values of fields that changed. Default: none. */
  values?: Record<string, ReleaseValue>;
  isNew: boolean;
  /** True if workers of earlier versions stop at once, without waiting for new ones. Default: false. */
  atOnce?: boolean;
}

/**
 * Records a change of endpoints, and begins the rollout of a new version. `tx`: the transaction that makes the change.
 */
export async function recordReleases(
  tx: Transaction,
  release: NewRelease,
  endpoints: readonly { id: string; version: number }[],
): Promise<void> {
  if (endpoints.length === 0) return;
  const { keyId, action, fields, values = {}, isNew, atOnce = false } = release;
  // Many endpoints may use one template: the number of parameters and statements does not grow with them.
  const ids = sql`${textArray(endpoints.map(({ id }) => id))}::text[]`;
  const versions = sql`${numberArray(endpoints.map(({ version }) => version))}::int[]`;
  await tx.execute(sql`
    INSERT INTO endpoint_release (endpoint_id, version, is_new, key_id, action, fields, values)
    SELECT e.id, e.version, ${isNew}, ${keyId}, ${action}, ${textArray(fields)}::text[],
      ${JSON.stringify(values)}::text::jsonb
    FROM unnest(${ids}, ${versions}) AS e (id, version)`);
  if (isNew) {
    await tx.execute(sql`
      INSERT INTO endpoint_rollout (endpoint_id, version, state)
      SELECT e.id, e.version, ${atOnce ? 'REPLACING' : 'CHECKING'} FROM unnest(${ids}, ${versions}) AS e (id, version)
      ON CONFLICT (endpoint_id) DO UPDATE
      SET (version, state, room_made, checked, reason, since) = (excluded.version, excluded.state, false, false, '',
        now())`);
  }
  await tx.execute(sql`
    DELETE FROM endpoint_release r USING (
      SELECT e.id AS endpoint_id, (SELECT o.id FROM endpoint_release o WHERE o.endpoint_id = e.id
        ORDER BY o.id DESC OFFSET ${KEPT_MAX} LIMIT 1) AS last_id
      FROM unnest(${ids}) AS e (id)
    ) gone WHERE r.endpoint_id = gone.endpoint_id AND r.id <= gone.last_id`);
}
