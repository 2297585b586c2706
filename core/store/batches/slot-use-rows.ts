/** Reads how endpoints use their slots, for the pace of batches. */
import type { SlotUse } from '../../domain/batches/slot-use.ts';
import { ARRIVALS_SECONDS } from '../../domain/batches/slot-use.ts';
import type { Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

/**
 * Returns the use of the slots of these endpoints, by id. Arrivals are stored every ten seconds, so a first normal
 * request counts by its job until then.
 */
export async function readSlotUse(sql: Sql, endpointIds: readonly string[]): Promise<Map<string, SlotUse>> {
  const rows = await sql<(SlotUse & { id: string })[]>`
    SELECT e.id, w.slots, r.normal + q.normal AS normal, r.low + q.low AS low, t.arrived, t."executionMs"
    FROM endpoint e
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(capacity), 0)::int AS slots FROM worker
      WHERE endpoint_id = e.id AND ended_at IS NULL AND endpoint_id <> '' AND desired = 'RUN' AND state = 'READY') w
    CROSS JOIN LATERAL (
      SELECT (count(*) FILTER (WHERE NOT low_priority))::int AS normal,
        (count(*) FILTER (WHERE low_priority))::int AS low
      FROM job WHERE endpoint_id = e.id AND state = 'IN_PROGRESS') r
    CROSS JOIN LATERAL (
      SELECT greatest(coalesce(sum(queued - queued_low), 0), 0)::int AS normal,
        greatest(coalesce(sum(queued_low), 0), 0)::int AS low
      FROM endpoint_tally WHERE endpoint_id = e.id) q
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(arrived), 0)::int AS arrived,
        coalesce(sum(execution_ms) / nullif(sum(executed), 0), 0)::int AS "executionMs"
      FROM endpoint_traffic
      WHERE endpoint_id = e.id AND ended_at > now() - ${ARRIVALS_SECONDS}::int * interval '1 s') t
    WHERE e.id = ANY(${textArray(endpointIds)}::text[])`;
  return new Map(rows.map(({ id, ...use }) => [id, use]));
}
