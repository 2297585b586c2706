/** Owners of keys, templates and endpoints. */
import { integer, pgTable, text } from '../orm.ts';
import { instant } from './columns.ts';

export const account = pgTable('account', {
  /** `user_` and 27 letters and digits. */
  id: text('id').primaryKey(),
  /** For people; creating the same name again returns the first account. */
  name: text('name').notNull().unique(),
  /** SSH key that pods find in their environment. */
  publicKey: text('public_key').notNull().default(''),
  /** 1 and up, never given twice: agents make a user of the host from it, the same one on all machines. */
  number: integer('number').notNull().unique().generatedAlwaysAsIdentity(),
  /** Quotas that the operator set; null = no limit. Workers that have not ended. */
  workerQuota: integer('worker_quota'),
  /** GPUs of its workers and running pods. */
  gpuQuota: integer('gpu_quota'),
  /** Its share of GPUs when they are short, against the weights of the other accounts that want some; 1 and up. */
  gpuWeight: integer('gpu_weight').notNull().default(1),
  /** Jobs that wait in all its queues. */
  queuedJobQuota: integer('queued_job_quota'),
  /** Requests to its endpoints in 10 s, at each facade. */
  requestQuota: integer('request_quota'),
  createdAt: instant('created_at').notNull().defaultNow(),
});
