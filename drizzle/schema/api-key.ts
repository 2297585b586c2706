/** API keys. Only the hash of a key is stored: a reader of this table can make no call. */
import { check, index, pgTable, sql, text, uniqueIndex } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const apiKey = pgTable(
  'api_key',
  {
    id: text('id').primaryKey(),
    /** Owner. Null for agent keys, which belong to the installation. */
    accountId: text('account_id').references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /**
     * SHA-256 of the key. Keys have 190 random bits, so a plain hash is enough. For a machine that joined by a token:
     * hash of its public key, which no text has.
     */
    secretHash: bytes('secret_hash').notNull().unique(),
    scope: text('scope').notNull(),
    /** Endpoints that the key is limited to. Empty: all endpoints of the account. */
    endpointIds: text('endpoint_ids').array().notNull().default(sql`'{}'`),
    /** Permissions of a RESTRICTED key for the management API and for the job API: NONE, READ or READ_WRITE. */
    management: text('management').notNull().default('NONE'),
    jobs: text('jobs').notNull().default('NONE'),
    /** For an AGENT key: the machine that used it first, the only one that may use it. Null: not used yet. */
    machineId: text('machine_id'),
    /** For a machine that joined by a token: that token. Its key is the key pair of its certificate. */
    joinTokenId: text('join_token_id'),
    /** Digest of the authority that signed its last certificate. Null: signed before digests were kept. */
    authorityDigest: text('authority_digest'),
    /** For an AGENT key: the key that it replaces. At its first use that one gets an end. Null: it replaces none. */
    replacesId: text('replaces_id'),
    createdAt: instant('created_at').notNull().defaultNow(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    index('api_key_account_idx').on(t.accountId),
    /** A machine has at most one valid key. It can use another one only after the first was revoked. */
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
