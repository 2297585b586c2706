/** Load of endpoints over time, for charts: sampled every ten seconds by one replica. Kept for hours. */
import { bigint, index, integer, pgTable, text } from '../../orm.ts';
import { instant } from '../columns.ts';

/**
 * Stretches of time in which one replica sampled without a break. Outside of all of them nothing is known; inside of
 * one an endpoint without a row has no load.
 */
export const loadPeriod = pgTable('load_period', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  startedAt: instant('started_at').notNull().defaultNow(),
  /** Time of its latest sample. */
  sampledAt: instant('sampled_at').notNull().defaultNow(),
});

/**
 * A sample that differs from the endpoint's previous one in the period, and one an hour without a change. No foreign
 * key, on purpose: the rows of a deleted endpoint are deleted by age, like all others.
 */
export const endpointLoad = pgTable(
  'endpoint_load',
  {
    endpointId: text('endpoint_id').notNull(),
    periodId: bigint('period_id', { mode: 'number' }).notNull(),
    sampledAt: instant('sampled_at').notNull().defaultNow(),
    /** Jobs in the queue, or requests that wait for a worker. */
    queued: integer('queued').notNull(),
    /** Jobs or requests that workers hold. */
    running: integer('running').notNull(),
    /** Workers that start, are ready or drain. */
    workers: integer('workers').notNull(),
  },
  (t) => [
    index('endpoint_load_endpoint_idx').on(t.endpointId, t.sampledAt),
    index('endpoint_load_sampled_idx').on(t.sampledAt),
  ],
);
