/** The last decision of an endpoint, and the log of those that said something new, each with its sample. Statements inside a turn's transaction. */
import type { Decision, DecisionSample } from '../domain/scale-decision.ts';
import type { Sql } from './database.ts';

/** Longest sample that is kept, in bytes of JSON; of a decision over more the log has everything else. */
export const SAMPLE_BYTES_MAX = 64 * 1024;

/** Keeps a decision that says something new and appends it to the log, in one statement. */
export async function logDecision(sql: Sql, endpointId: string, decision: Decision, sample: DecisionSample): Promise<void> {
  const { target, wished, throttled, reason, limits, numbers, actions, refusal, refusalByMachine } = decision;
  const text = JSON.stringify(sample);
  const bytes = Buffer.byteLength(text);
  const kept = bytes > SAMPLE_BYTES_MAX ? null : text;
  await sql`
    WITH noted AS (
      INSERT INTO scale_decision AS d (endpoint_id, target, throttled, reason, refusal, refusal_by_machine)
      VALUES (${endpointId}, ${target}, ${throttled}, ${reason}, ${refusal}, ${refusalByMachine}) ON CONFLICT (endpoint_id) DO UPDATE
      SET (target, throttled, reason, refusal, refusal_by_machine, decided_at)
        = (excluded.target, excluded.throttled, excluded.reason, excluded.refusal, excluded.refusal_by_machine, now())
    )
    INSERT INTO scale_log (endpoint_id, target, wished, throttled, reason, limits, numbers, actions, refusal, refusal_by_machine, sample, sample_bytes)
    VALUES (${endpointId}, ${target}, ${wished}, ${throttled}, ${reason}, ${JSON.stringify(limits)}::text::jsonb, ${JSON.stringify(numbers)}::text::jsonb,
      ${JSON.stringify(actions)}::text::jsonb, ${refusal}, ${refusalByMachine}, ${kept}::text::jsonb, ${bytes})`;
}

/** Keeps what each machine says of a decision that is otherwise the same. Writes only when it differs. */
export async function noteDecision(sql: Sql, endpointId: string, { refusalByMachine }: Decision): Promise<void> {
  await sql`UPDATE scale_decision SET refusal_by_machine = ${refusalByMachine} WHERE endpoint_id = ${endpointId}`;
}
