/** Accounts: the owners of keys, templates and endpoints. */
import { integer, pgTable, text } from '../orm.ts';
import { instant } from './columns.ts';

export const account = pgTable('account', {
  /** `user_` and 27 letters and digits. */
  id: text('id').primaryKey(),
  /** Name for people. Creating the same name again returns the first account. */
  name: text('name').notNull().unique(),
  /** SSH key that pods find in their environment. */
  publicKey: text('public_key').notNull().default(''),
  /** Number from 1, never reused. Agents derive a host user from it, the same on all machines. */
  number: integer('number').notNull().unique().generatedAlwaysAsIdentity(),
  /** Quotas that the operator sets. Null: no limit. This one: workers that have not ended. */
  workerQuota: integer('worker_quota'),
  /** Most GPUs of its workers and running pods. */
  gpuQuota: integer('gpu_quota'),
  /** Its weight when GPUs are short, relative to the other accounts that want some. From 1. */
  gpuWeight: integer('gpu_weight').notNull().default(1),
  /** Most jobs that wait in all its queues. */
  queuedJobQuota: integer('queued_job_quota'),
  /** Most requests to its endpoints in 10 s, at each facade. */
  requestQuota: integer('request_quota'),
  createdAt: instant('created_at').notNull().defaultNow(),
});
