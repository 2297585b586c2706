/**
 * Webhook calls to make. A row is committed with the outcome that it reports, and stays until it was delivered or given
 * up.
 */
import { bigint, bigserial, boolean, check, index, integer, pgTable, primaryKey, sql, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const webhookDelivery = pgTable(
  'webhook_delivery',
  {
    id: bigserial('id', { mode: 'number' }).notNull(),
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    /** Plaintext URL from a release without encryption; empty since. */
    url: text('url').notNull().default(''),
    /** The job's encrypted webhook. Null: `url` has it. */
    urlSealed: bytes('url_sealed'),
    /**
     * The job record at the time when it became final, with input (docs/reference/api.md#webhooks). Kept here because
     * the job may expire first. The webhook is added when the call is made, unless `url` has it in plaintext.
     */
    body: bytes('body').notNull(),
    /** Number of failed tries, 0 to 3. */
    tries: integer('tries').notNull().default(0),
    /** Time of the next try. While a replica makes a try: the time from which another replica may take the call. */
    dueAt: instant('due_at').notNull().defaultNow(),
    /** Why the latest try failed. */
    lastError: text('last_error').notNull().default(''),
    /** Number of redrives by its owner. */
    redrives: integer('redrives').notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.endpointId, t.id] }),
    index('webhook_delivery_due_idx').on(t.dueAt),
    index('webhook_delivery_of_job_idx').on(t.endpointId, t.jobId),
    check('webhook_delivery_tries_bounded', sql`${t.tries} BETWEEN 0 AND 3`),
  ],
);

/**
 * Webhook calls that were delivered or given up, each stored as long as its job. A redriven call moves back to the
 * calls to make.
 */
export const webhookResult = pgTable(
  'webhook_result',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    /** Id of the call. */
    id: bigint('id', { mode: 'number' }).notNull(),
    /** False: given up. */
    delivered: boolean('delivered').notNull(),
    /** Number of tries since the call was ordered or last redriven. */
    tries: integer('tries').notNull(),
    /** Why the last try failed. Empty: delivered. */
    lastError: text('last_error').notNull(),
    redrives: integer('redrives').notNull(),
    endedAt: instant('ended_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.endpointId, t.jobId, t.id] }),
    index('webhook_result_given_up_idx').on(t.endpointId, t.endedAt).where(sql`NOT delivered`),
  ],
);
