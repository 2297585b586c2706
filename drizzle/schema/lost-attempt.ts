/**
 * Attempts of jobs that were lost, or whose error was a reason for core or the user to try again: the history that
 * explanations show. Goes with its job.
 */
import { index, integer, pgTable, primaryKey, text } from '../orm.ts';
import { instant } from './columns.ts';

export const lostAttempt = pgTable(
  'lost_attempt',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    attempt: integer('attempt').notNull(),
    /** Where it ran. Both may be gone. */
    workerId: text('worker_id').notNull(),
    machineId: text('machine_id').notNull(),
    /** Why it was lost, for people. */
    cause: text('cause').notNull(),
    /**
     * How its worker ended, as soon as that is known: exit code, and what its machine told with the last lines that it
     * wrote.
     */
    exitCode: integer('exit_code'),
    workerReason: text('worker_reason').notNull().default(''),
    /** Null: not known, as of those that a release before wrote down. */
    startedAt: instant('started_at'),
    lostAt: instant('lost_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.jobId, t.attempt] }), index('lost_attempt_worker_idx').on(t.workerId)],
);
