/** Owners of keys, templates and endpoints. */
import { pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

export const account = pgTable('account', {
  /** `user_` and 27 letters and digits. */
  id: text('id').primaryKey(),
  /** For people; creating the same name again returns the first account. */
  name: text('name').notNull().unique(),
  /** SSH key that pods find in their environment. */
  publicKey: text('public_key').notNull().default(''),
  createdAt: instant('created_at').notNull().defaultNow(),
});
