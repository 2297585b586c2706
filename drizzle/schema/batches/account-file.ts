/** Files of accounts: requests of batches, and results of batches. */
import { bigint, check, index, integer, pgTable, primaryKey, sql, text } from '../../orm.ts';
import { account } from '../account.ts';
import { bytes, instant } from '../columns.ts';
import { batch } from './batch.ts';

export const accountFile = pgTable(
  'account_file',
  {
    /** `file-` and 24 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    /** The key that created it. Keys for some endpoints see only their own files. */
    keyId: text('key_id').notNull(),
    /** `batch`, `batch_output`, or `draft`: the requests of an endpoint's batch, which no list shows. */
    purpose: text('purpose').notNull(),
    filename: text('filename').notNull(),
    /** Size in bytes, before encryption. */
    bytes: bigint('bytes', { mode: 'number' }).notNull().default(0),
    /** See the check below. */
    state: text('state').notNull(),
    /** The batch whose results it lists. Null: it has its own pieces. */
    batchId: text('batch_id').references(() => batch.id, { onDelete: 'cascade' }),
    /** Its lines among the results of the batch. */
    side: text('side'),
    createdAt: instant('created_at').notNull().defaultNow(),
    /** Time of the last piece. An upload that has rested for too long is given up. */
    writtenAt: instant('written_at').notNull().defaultNow(),
    /** Null: it is kept until it is deleted. */
    expiresAt: instant('expires_at'),
  },
  (t) => [
    index('account_file_list_idx').on(t.accountId, t.createdAt, t.id),
    index('account_file_batch_idx').on(t.batchId),
    index('account_file_expires_idx').on(t.expiresAt),
    index('account_file_unfinished_idx').on(t.writtenAt).where(sql`${t.state} <> 'READY'`),
    check('account_file_state_known', sql`${t.state} IN ('UPLOADING', 'READY', 'DELETED')`),
  ],
);

/** Encrypted pieces of files. Small, so that no large value is read or written. */
export const filePiece = pgTable(
  'file_piece',
  {
    fileId: text('file_id')
      .notNull()
      .references(() => accountFile.id, { onDelete: 'cascade' }),
    /** Offset of its first byte in the file. */
    start: bigint('start', { mode: 'number' }).notNull(),
    /** Size in bytes, before encryption. */
    bytes: integer('bytes').notNull(),
    contentSealed: bytes('content_sealed').notNull(),
  },
  (t) => [primaryKey({ columns: [t.fileId, t.start] })],
);
