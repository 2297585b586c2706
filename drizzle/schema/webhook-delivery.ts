/** Webhook calls to make. A row is committed with the outcome it announces and stays until it was delivered or given up. */
import { bigserial, check, index, integer, pgTable, primaryKey, sql, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const webhookDelivery = pgTable('webhook_delivery', {
  id: bigserial('id', { mode: 'number' }).notNull(),
  endpointId: text('endpoint_id').notNull(),
  jobId: text('job_id').notNull(),
  /** As a release before sealing wrote it; empty since. */
  url: text('url').notNull().default(''),
  /** The job's sealed webhook. Null: `url` has it. */
  urlSealed: bytes('url_sealed'),
  /**
   * The job record as it was when it became final, with input (docs/api.md#webhooks); kept here, because the job may expire first. The webhook is added
   * when it is sent, unless `url` has it in the clear.
   */
  body: bytes('body').notNull(),
  /** Tries that ended without success, 0 to 3. */
  tries: integer('tries').notNull().default(0),
  /** When the next try is due; while a replica makes a try it is the instant at which another may take over. */
  dueAt: instant('due_at').notNull().defaultNow(),
  /** Why the latest try failed. */
  lastError: text('last_error').notNull().default(''),
}, (t) => [
  primaryKey({ columns: [t.endpointId, t.id] }),
  index('webhook_delivery_due_idx').on(t.dueAt),
  check('webhook_delivery_tries_bounded', sql`${t.tries} BETWEEN 0 AND 3`),
]);
