/** Idempotency-Keys of creations, until they expire. */
import { index, pgTable, primaryKey, text } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const creationKey = pgTable(
  'creation_key',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    /** Name of the RPC that creates. */
    action: text('action').notNull(),
    /** SHA-256 of the caller's key. */
    keyHash: bytes('key_hash').notNull(),
    /** Keyed hash of everything that was sent: it contains secrets, which a plain hash would let guess. */
    bodyHash: bytes('body_hash').notNull(),
    /** Id of the created resource. */
    subjectId: text('subject_id').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.action, t.keyHash] }),
    index('creation_key_expires_idx').on(t.expiresAt),
  ],
);
