/** Latest scaling decision of each endpoint: the answer to "why is my job still queued". Written on change only. */
import { integer, pgTable, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { endpoint } from '../endpoint.ts';

export const scaleDecision = pgTable('scale_decision', {
  endpointId: text('endpoint_id')
    .primaryKey()
    .references(() => endpoint.id, { onDelete: 'cascade' }),
  /** Number of workers that the endpoint should have. */
  target: integer('target').notNull(),
  /** Number of these that found no machine with capacity. */
  throttled: integer('throttled').notNull(),
  /** Reason of the target. */
  reason: text('reason').notNull(),
  /** Why throttled workers found no slot, without names of machines. Empty if none is throttled. */
  refusal: text('refusal').notNull().default(''),
  /** The same for the operator: the reason of each machine, by name. */
  refusalByMachine: text('refusal_by_machine').notNull().default(''),
  decidedAt: instant('decided_at').notNull().defaultNow(),
});
