/**
 * What went on at queue-based endpoints, by spans of some seconds: what the SLO scaler and what-if questions are
 * answered from. Kept for hours.
 */
import { bigint, index, integer, pgTable, text } from '../../orm.ts';
import { instant } from '../columns.ts';

/**
 * Each replica appends rows of its own. No foreign key, on purpose: the rows of a deleted endpoint go by age, as all
 * do.
 */
export const endpointTraffic = pgTable(
  'endpoint_traffic',
  {
    endpointId: text('endpoint_id').notNull(),
    /** When the span ended, and how long it was. */
    endedAt: instant('ended_at').notNull().defaultNow(),
    spanMs: integer('span_ms').notNull(),
    /** Jobs that were submitted, those with low priority left out. */
    arrived: integer('arrived').notNull(),
    /** Executions that ended, and how long they were together. */
    executed: integer('executed').notNull(),
    executionMs: bigint('execution_ms', { mode: 'number' }).notNull(),
    /**
     * Numbers of executions by length, and of ended jobs without low priority by how long they had waited:
     * core/domain/scaling/traffic.ts, Histogram.
     */
    executions: integer('executions').array().notNull(),
    waits: integer('waits').array().notNull(),
    /**
     * Jobs with low priority that were submitted. 0 in what a release wrote that did not count them, as the next two.
     */
    arrivedLow: integer('arrived_low').notNull().default(0),
    /** Jobs that became COMPLETED, and those that became FAILED or TIMED_OUT. */
    completed: integer('completed').notNull().default(0),
    failed: integer('failed').notNull().default(0),
  },
  (t) => [
    index('endpoint_traffic_endpoint_idx').on(t.endpointId, t.endedAt),
    index('endpoint_traffic_ended_idx').on(t.endedAt),
  ],
);
