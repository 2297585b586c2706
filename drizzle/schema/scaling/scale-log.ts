/**
 * Log of scaling: decisions that changed something or had another reason than the previous one, each with its inputs.
 */
import { bigint, index, integer, jsonb, pgTable, sql, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { endpoint } from '../endpoint.ts';

export const scaleLog = pgTable(
  'scale_log',
  {
    /** Later decisions of an endpoint have higher ids. */
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    decidedAt: instant('decided_at').notNull().default(sql`clock_timestamp()`),
    /** Target number of workers, and the number wanted before workersMax applied. */
    target: integer('target').notNull(),
    wished: integer('wished').notNull(),
    /** Number of workers that found no slot. */
    throttled: integer('throttled').notNull(),
    reason: text('reason').notNull(),
    /** Limits that lowered the number: core/domain/scaling/scale-target.ts, ScaleLimit. */
    limits: jsonb('limits').notNull(),
    /** Inputs of the decision: core/domain/scaling/scale-decision.ts, DecisionNumbers. */
    numbers: jsonb('numbers').notNull(),
    /** Actions of the decision: core/domain/scaling/scale-decision.ts, WorkerAction. */
    actions: jsonb('actions').notNull(),
    /** Why throttled workers found no slot: the text for everybody, and the one for the operator. */
    refusal: text('refusal').notNull(),
    refusalByMachine: text('refusal_by_machine').notNull(),
    /** core/domain/scaling/scale-decision.ts, DecisionSample. Null: it was larger than the limit. */
    sample: jsonb('sample'),
    sampleBytes: integer('sample_bytes').notNull(),
  },
  (t) => [index('scale_log_endpoint_idx').on(t.endpointId, t.id), index('scale_log_decided_idx').on(t.decidedAt)],
);
