/**
 * Writes the last decision of each endpoint, and the log of new decisions with their samples. Statements run inside a
 * reconcile transaction.
 */

import type { Decision, DecisionSample } from '../../domain/scaling/scale-decision.ts';
import { LOGGED_DAYS, LOGGED_MAX } from '../../domain/scaling/scale-decision.ts';
import type { Sql } from '../sql/database.ts';

/** Maximum size of a logged sample, in bytes of JSON. Decisions over larger samples are logged without it. */
export const SAMPLE_BYTES_MAX = 64 * 1024;

/** A new decision. */
export interface DecisionToLog {
  endpointId: string;
  decision: Decision;
  sample: DecisionSample;
}

/** The refusals by machine of a decision that is otherwise unchanged. */
export interface UpdatedRefusal {
  endpointId: string;
  refusalByMachine: string;
}

/** Stores new decisions and appends them to the log, in one statement. At most one decision per endpoint. */
export async function logDecisions(sql: Sql, decisions: readonly DecisionToLog[]): Promise<void> {
  if (decisions.length === 0) return;
  const rows = `[${decisions.map(rowOf).join()}]`;
  await sql`
    WITH given AS MATERIALIZED (
      SELECT * FROM ROWS FROM (jsonb_to_recordset(${rows}::text::jsonb) AS (
        "endpointId" text, target int, wished int, throttled int, reason text, limits jsonb, numbers jsonb,
        actions jsonb,
        refusal text, "refusalByMachine" text, sample jsonb, bytes int)) WITH ORDINALITY
    ), noted AS (
      INSERT INTO scale_decision AS d (endpoint_id, target, throttled, reason, refusal, refusal_by_machine)
      SELECT "endpointId", target, throttled, reason, refusal, "refusalByMachine" FROM given
        ON CONFLICT (endpoint_id) DO UPDATE
      SET (target, throttled, reason, refusal, refusal_by_machine, decided_at)
        = (excluded.target, excluded.throttled, excluded.reason, excluded.refusal, excluded.refusal_by_machine, now())
    )
    INSERT INTO scale_log (endpoint_id, target, wished, throttled, reason, limits, numbers, actions, refusal,
      refusal_by_machine, sample, sample_bytes)
    SELECT "endpointId", target, wished, throttled, reason, limits, numbers, actions, refusal, "refusalByMachine",
      sample, bytes
    FROM given ORDER BY ordinality`;
}

/**
 * Returns the row as JSON. The sample is serialized once, because it is by far the largest part and its length is
 * needed too.
 */
function rowOf({ endpointId, decision, sample }: DecisionToLog): string {
  const { target, wished, throttled, reason, limits, numbers, actions, refusal, refusalByMachine } = decision;
  const text = JSON.stringify(sample);
  const bytes = Buffer.byteLength(text);
  const rest = JSON.stringify({
    endpointId,
    target,
    wished,
    throttled,
    reason,
    limits,
    numbers,
    actions,
    refusal,
    refusalByMachine,
    bytes,
  });
  return bytes > SAMPLE_BYTES_MAX ? rest : `${rest.slice(0, -1)},"sample":${text}}`;
}

/** Stores changed refusals by machine. */
export async function updateRefusals(sql: Sql, decisions: readonly UpdatedRefusal[]): Promise<void> {
  if (decisions.length === 0) return;
  await sql`
    UPDATE scale_decision d SET refusal_by_machine = n.text
    FROM unnest(${decisions.map(({ endpointId }) => endpointId)}::text[],
      ${decisions.map(({ refusalByMachine }) => refusalByMachine)}::text[]) AS n (id, text)
    WHERE d.endpoint_id = n.id`;
}

/**
 * Deletes up to `limit` old entries, and all entries above the maximum per endpoint. Returns the number of deleted
 * entries.
 */
export async function reapLog(sql: Sql, limit: number): Promise<number> {
  const old = await sql`
    DELETE FROM scale_log WHERE id IN (
      SELECT id FROM scale_log WHERE decided_at < now() - ${LOGGED_DAYS}::int * interval '1 day' ORDER BY decided_at
        LIMIT ${limit})`;
  const many = await sql`
    DELETE FROM scale_log l USING (SELECT endpoint_id FROM scale_log GROUP BY endpoint_id
      HAVING count(*) > ${LOGGED_MAX}) full_of
    WHERE l.endpoint_id = full_of.endpoint_id AND l.id <= (
      SELECT id FROM scale_log WHERE endpoint_id = full_of.endpoint_id ORDER BY id DESC OFFSET ${LOGGED_MAX} LIMIT 1)`;
  return old.count + many.count;
}
