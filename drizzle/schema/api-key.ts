/** API keys. Only the hash of a key is stored: who reads this table can call nothing. */
import { check, index, pgTable, sql, text, uniqueIndex } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const apiKey = pgTable(
  'api_key',
  {
    id: text('id').primaryKey(),
    /** Owner. Null for keys of machines, which belong to the installation. */
    accountId: text('account_id').references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** SHA-256 of the key; keys carry 190 bits of chance, so a plain hash is enough. */
    secretHash: bytes('secret_hash').notNull().unique(),
    scope: text('scope').notNull(),
    /** Only these endpoints; empty = all of the account. */
    endpointIds: text('endpoint_ids').array().notNull().default(sql`'{}'`),
    /** What a RESTRICTED key may do with what jobs run on, and with jobs: NONE, READ or READ_WRITE. */
    management: text('management').notNull().default('NONE'),
    jobs: text('jobs').notNull().default('NONE'),
    /** Of a key with scope AGENT: the machine that used it first, and the only one that may. Null: not used yet. */
    machineId: text('machine_id'),
    createdAt: instant('created_at').notNull().defaultNow(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    index('api_key_account_idx').on(t.accountId),
    /** One key speaks for a machine; another one only after it was revoked. */
    uniqueIndex('api_key_machine_idx').on(t.machineId).where(sql`${t.revokedAt} IS NULL`),
    check(
      'api_key_owner_fits',
      sql`(${t.scope} = 'AGENT') = (${t.accountId} IS NULL) AND (${t.machineId} IS NULL OR ${t.scope} = 'AGENT')`,
    ),
    check('api_key_scope_known', sql`${t.scope} IN ('ALL', 'READ_ONLY', 'AGENT', 'RESTRICTED')`),
    check(
      'api_key_permissions_known',
      sql`${t.management} IN ('NONE', 'READ', 'READ_WRITE') AND ${t.jobs} IN ('NONE', 'READ', 'READ_WRITE')`,
    ),
  ],
);
