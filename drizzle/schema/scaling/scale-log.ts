/**
 * The log of scaling: decisions that changed something or gave another reason than the one before, each with what it
 * was made from.
 */
import { bigint, index, integer, jsonb, pgTable, sql, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { endpoint } from '../endpoint.ts';

export const scaleLog = pgTable(
  'scale_log',
  {
    /** Later decisions of an endpoint have higher numbers. */
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => endpoint.id, { onDelete: 'cascade' }),
    decidedAt: instant('decided_at').notNull().default(sql`clock_timestamp()`),
    /** Workers that there should be, and how many were wished before workersMax. */
    target: integer('target').notNull(),
    wished: integer('wished').notNull(),
    /** Workers that found no place. */
    throttled: integer('throttled').notNull(),
    reason: text('reason').notNull(),
    /** What cut the wish: core/domain/scaling/scale-target.ts, ScaleLimit. */
    limits: jsonb('limits').notNull(),
    /** What it was decided from: core/domain/scaling/scale-decision.ts, DecisionNumbers. */
    numbers: jsonb('numbers').notNull(),
    /** What was done: core/domain/scaling/scale-decision.ts, WorkerAction. */
    actions: jsonb('actions').notNull(),
    /** Why throttled workers found no place, for anybody and for the operator. */
    refusal: text('refusal').notNull(),
    refusalByMachine: text('refusal_by_machine').notNull(),
    /** core/domain/scaling/scale-decision.ts, DecisionSample; null: it was larger than what is kept. */
    sample: jsonb('sample'),
    sampleBytes: integer('sample_bytes').notNull(),
  },
  (t) => [index('scale_log_endpoint_idx').on(t.endpointId, t.id), index('scale_log_decided_idx').on(t.decidedAt)],
);
