/** API keys. Only the hash of a key is stored: who reads this table can call nothing. */
import { sql } from 'drizzle-orm';
import { check, index, pgTable, text } from 'drizzle-orm/pg-core';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const apiKey = pgTable('api_key', {
  id: text('id').primaryKey(),
  accountId: text('account_id').notNull().references(() => account.id, { onDelete: 'cascade' }),
  name: text('name').notNull(),
  /** SHA-256 of the key; keys carry 190 bits of chance, so a plain hash is enough. */
  secretHash: bytes('secret_hash').notNull().unique(),
  scope: text('scope').notNull(),
  /** Only these endpoints; empty = all of the account. */
  endpointIds: text('endpoint_ids').array().notNull().default(sql`'{}'`),
  /** What a RESTRICTED key may do with what jobs run on, and with jobs: NONE, READ or READ_WRITE. */
  management: text('management').notNull().default('NONE'),
  jobs: text('jobs').notNull().default('NONE'),
  createdAt: instant('created_at').notNull().defaultNow(),
  revokedAt: instant('revoked_at'),
}, (t) => [
  index('api_key_account_idx').on(t.accountId),
  check('api_key_scope_known', sql`${t.scope} IN ('ALL', 'READ_ONLY', 'AGENT', 'RESTRICTED')`),
  check('api_key_permissions_known', sql`${t.management} IN ('NONE', 'READ', 'READ_WRITE') AND ${t.jobs} IN ('NONE', 'READ', 'READ_WRITE')`),
]);
