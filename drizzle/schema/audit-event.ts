/**
 * Audit trail of changes and their authors. A row is committed together with its change and never altered. Values are
 * left out, as they may be secret.
 */
import { bigserial, index, pgTable, sql, text } from '../orm.ts';
import { account } from './account.ts';
import { instant } from './columns.ts';

export const auditEvent = pgTable(
  'audit_event',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    /** Account of the changed resource. Null: it belongs to the installation. */
    accountId: text('account_id').references(() => account.id, { onDelete: 'cascade' }),
    at: instant('at').notNull().defaultNow(),
    /** The key that was used; `root` for the operator's. */
    keyId: text('key_id').notNull(),
    /** Name of the RPC. */
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
