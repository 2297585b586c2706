/** Addresses that problems are sent to, the problems that were sent, and the messages that wait. */
import {
  bigint,
  bigserial,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../../orm.ts';
import { bytes, instant } from '../columns.ts';

export const alertTarget = pgTable(
  'alert_target',
  {
    /** 12 lowercase letters and digits. */
    id: text('id').primaryKey(),
    /** Empty: of the operator, who gets the problems of all accounts and machines. */
    accountId: text('account_id').notNull(),
    name: text('name').notNull(),
    /** WEBHOOK, SLACK or EMAIL. */
    kind: text('kind').$type<'WEBHOOK' | 'SLACK' | 'EMAIL'>().notNull(),
    /** Scheme and host of the URL, or the mail address, to be shown. */
    host: text('host').notNull(),
    /** Encrypted URL. */
    urlSealed: bytes('url_sealed').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    silentUntil: instant('silent_until'),
    deliveredAt: instant('delivered_at'),
    lastError: text('last_error').notNull().default(''),
  },
  (t) => [index('alert_target_account_idx').on(t.accountId, t.createdAt)],
);

/** Problems of accounts with an address. A row without `announced_at` has not lasted long enough to be sent. */
export const alert = pgTable(
  'alert',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    /** As in alert_target. */
    accountId: text('account_id').notNull(),
    /** Identity of a problem: kind, kind of resource, id of the resource. */
    identity: text('identity').notNull(),
    /** See core/domain/reports/problem.ts. */
    problem: jsonb('problem').notNull(),
    beganAt: instant('began_at').notNull().defaultNow(),
    seenAt: instant('seen_at').notNull().defaultNow(),
    announcedAt: instant('announced_at'),
    endedAt: instant('ended_at'),
  },
  (t) => [
    // One row for a problem that lasts.
    uniqueIndex('alert_lasting_idx').on(t.accountId, t.identity).where(sql`${t.endedAt} IS NULL`),
    index('alert_history_idx').on(t.accountId, t.id),
    index('alert_ended_idx').on(t.endedAt).where(sql`${t.endedAt} IS NOT NULL`),
  ],
);

/** Messages that are to be sent. A row goes when its message was taken or given up. */
export const alertCall = pgTable(
  'alert_call',
  {
    targetId: text('target_id')
      .notNull()
      .references(() => alertTarget.id, { onDelete: 'cascade' }),
    alertId: bigint('alert_id', { mode: 'number' })
      .notNull()
      .references(() => alert.id, { onDelete: 'cascade' }),
    /** Whether the message is that the problem has ended. */
    ofEnd: boolean('of_end').notNull(),
    dueAt: instant('due_at').notNull().defaultNow(),
    tries: integer('tries').notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.targetId, t.alertId, t.ofEnd] }), index('alert_call_due_idx').on(t.dueAt)],
);
