/**
 * Webhook calls to make. A row is committed with the outcome it announces and stays until it was delivered or given up.
 */
import { bigint, bigserial, boolean, check, index, integer, pgTable, primaryKey, sql, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const webhookDelivery = pgTable(
  'webhook_delivery',
  {
    id: bigserial('id', { mode: 'number' }).notNull(),
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    /** As a release before sealing wrote it; empty since. */
    url: text('url').notNull().default(''),
    /** The job's sealed webhook. Null: `url` has it. */
    urlSealed: bytes('url_sealed'),
    /**
     * The job record as it was when it became final, with input (docs/reference/api.md#webhooks); kept here, because
     * the job may expire first. The webhook is added when it is sent, unless `url` has it in the clear.
     */
    body: bytes('body').notNull(),
    /** Tries that ended without success, 0 to 3. */
    tries: integer('tries').notNull().default(0),
    /** When the next try is due; while a replica makes a try it is the instant at which another may take over. */
    dueAt: instant('due_at').notNull().defaultNow(),
    /** Why the latest try failed. */
    lastError: text('last_error').notNull().default(''),
    /** How often its owner has asked for it anew. */
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
 * Webhook calls that were delivered or given up; each as long as its job is kept. One that is asked for anew goes back
 * to the calls to make.
 */
export const webhookResult = pgTable(
  'webhook_result',
  {
    endpointId: text('endpoint_id').notNull(),
    jobId: text('job_id').notNull(),
    /** That of the call. */
    id: bigint('id', { mode: 'number' }).notNull(),
    /** False: given up. */
    delivered: boolean('delivered').notNull(),
    /** Tries that were made since it was ordered, or last asked for anew. */
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
