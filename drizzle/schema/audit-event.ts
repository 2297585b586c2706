/**
 * Audit trail of changes and their authors, and of attempts that were refused. A row of a change is committed together
 * with it. A call that changes many jobs writes its row afterwards. Rows are never altered. Secrets are left out.
 */
import { bigserial, index, integer, jsonb, pgTable, sql, text } from '../orm.ts';
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
    /** Old and new values of fields that changed, as JSON. Secrets are masked; long values are left out. */
    values: jsonb('values').$type<Record<string, { old?: unknown; new?: unknown }>>().notNull().default({}),
    /** Name of the key at the time of the change. Empty for the operator's. */
    keyName: text('key_name').notNull().default(''),
    /** Name of the resource at the time of the change. Empty if it has none. */
    subjectName: text('subject_name').notNull().default(''),
    /** Address of the caller, as the facade saw it, else as core saw it. Empty for changes of core itself. */
    address: text('address').notNull().default(''),
    /** Address of the facade or proxy that named `address`. Empty if the caller called core directly. */
    via: text('via').notNull().default(''),
    /** Reason why the attempt was refused. Empty: the change was made. */
    refused: text('refused').notNull().default(''),
    /** Text of the refusal, shortened. */
    detail: text('detail').notNull().default(''),
    /** Number of equal attempts that the row stands for. 1 for changes. */
    attempts: integer('attempts').notNull().default(1),
  },
  (t) => [
    index('audit_event_account_idx').on(t.accountId, t.id),
    index('audit_event_refused_idx').on(t.at).where(sql`refused <> ''`),
    index('audit_event_subject_idx').on(t.accountId, t.subjectId, t.id),
  ],
);
