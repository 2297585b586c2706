/**
 * Who changed what. A row is committed together with its change and never altered. Values are left out: they may be
 * secret.
 */
import { bigserial, index, pgTable, sql, text } from '../orm.ts';
import { account } from './account.ts';
import { instant } from './columns.ts';

export const auditEvent = pgTable(
  'audit_event',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    /** Whose things were changed. Null: they belong to the installation. */
    accountId: text('account_id').references(() => account.id, { onDelete: 'cascade' }),
    at: instant('at').notNull().defaultNow(),
    /** The key that was used; `root` for the operator's. */
    keyId: text('key_id').notNull(),
    /** Name of the rpc. */
    action: text('action').notNull(),
    subjectId: text('subject_id').notNull(),
    /** Names of the fields that were set. */
    fields: text('fields').array().notNull().default(sql`'{}'`),
  },
  (t) => [
    index('audit_event_account_idx').on(t.accountId, t.id),
    index('audit_event_subject_idx').on(t.accountId, t.subjectId, t.id),
  ],
);
