/**
 * Traffic of queue-based endpoints, in spans of some seconds. Input of the SLO scaler and of what-if questions. Kept
 * for hours.
 */
import { bigint, index, integer, pgTable, text } from '../../orm.ts';
import { instant } from '../columns.ts';

/**
 * Each replica appends its own rows. No foreign key, on purpose: the rows of a deleted endpoint are deleted by age,
 * like all others.
 */
export const endpointTraffic = pgTable(
  'endpoint_traffic',
  {
    endpointId: text('endpoint_id').notNull(),
    /** End of the span, and its length in milliseconds. */
    endedAt: instant('ended_at').notNull().defaultNow(),
    spanMs: integer('span_ms').notNull(),
    /** Number of submitted jobs, without low priority. */
    arrived: integer('arrived').notNull(),
    /** Number of ended executions, and the sum of their durations. */
    executed: integer('executed').notNull(),
    executionMs: bigint('execution_ms', { mode: 'number' }).notNull(),
    /**
     * Histograms (core/domain/scaling/traffic.ts): durations of executions, and waits of ended jobs without low
     * priority.
     */
    executions: integer('executions').array().notNull(),
    waits: integer('waits').array().notNull(),
    /**
     * Number of submitted jobs with low priority. This and the next two are 0 in rows of releases that did not count
     * them.
     */
    arrivedLow: integer('arrived_low').notNull().default(0),
    /** Number of jobs that became COMPLETED, and of jobs that became FAILED or TIMED_OUT. */
    completed: integer('completed').notNull().default(0),
    failed: integer('failed').notNull().default(0),
  },
  (t) => [
    index('endpoint_traffic_endpoint_idx').on(t.endpointId, t.endedAt),
    index('endpoint_traffic_ended_idx').on(t.endedAt),
  ],
);
