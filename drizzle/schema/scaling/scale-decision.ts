/**
 * The latest decision of the scaler for each endpoint: the answer to "why is my job still queued". Written on change
 * only.
 */
import { integer, pgTable, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { endpoint } from '../endpoint.ts';

export const scaleDecision = pgTable('scale_decision', {
  endpointId: text('endpoint_id')
    .primaryKey()
    .references(() => endpoint.id, { onDelete: 'cascade' }),
  /** Workers that the endpoint should have. */
  target: integer('target').notNull(),
  /** How many of them found no machine with room. */
  throttled: integer('throttled').notNull(),
  /** Why this target. */
  reason: text('reason').notNull(),
  /** Why throttled workers found no place, in words that name no machine; empty when none is throttled. */
  refusal: text('refusal').notNull().default(''),
  /** The same for the operator: what each machine refused, by name. */
  refusalByMachine: text('refusal_by_machine').notNull().default(''),
  decidedAt: instant('decided_at').notNull().defaultNow(),
});
