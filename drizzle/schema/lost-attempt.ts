/**
 * Attempts of jobs that were lost, or that core or the user retried because of their error: the history that
 * explanations show. Deleted with the job.
 */
import { index, integer, pgTable, primaryKey, text } from '../orm.ts';
import { instant } from './columns.ts';

export const lostAttempt = pgTable(
  'lost_attempt',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    attempt: integer('attempt').notNull(),
    /** Worker and machine of the attempt. Both may be deleted. */
    workerId: text('worker_id').notNull(),
    machineId: text('machine_id').notNull(),
    /** Why it was lost, for people. */
    cause: text('cause').notNull(),
    /** End of its worker, once known: exit code, and the machine's report with the last log lines. */
    exitCode: integer('exit_code'),
    workerReason: text('worker_reason').notNull().default(''),
    /** Null: unknown, for example in rows of earlier releases. */
    startedAt: instant('started_at'),
    lostAt: instant('lost_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.endpointId, t.jobId, t.attempt] }), index('lost_attempt_worker_idx').on(t.workerId)],
);
