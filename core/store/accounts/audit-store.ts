/** Reads the audit trail, for people. Its rows are written by audit-rows.ts. */
import { and, asc, desc, eq, gt, gte, lt, sql } from '@slipway/drizzle/orm';
import { auditEvent } from '@slipway/drizzle/schema/audit-event';
import type { Database } from '../sql/database.ts';

/** A recorded change. */
export type AuditEvent = typeof auditEvent.$inferSelect;

/** Filter and order of changes. */
interface AuditSelection {
  limit: number;
  /** Only changes after this one, in the requested order. */
  beyondId?: number;
  subjectId?: string;
  /** Text in the action, the subject, the key or a field. Empty: all. */
  search: string;
  action?: string | undefined;
  since?: Date | undefined;
  /** Only changes before this time. */
  until?: Date | undefined;
  oldestFirst: boolean;
}

export class AuditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns changes of an account. Empty account: all changes. */
  async list(accountId: string, page: AuditSelection): Promise<AuditEvent[]> {
    const { id, action, subjectId, keyId, fields } = auditEvent;
    const beyond = page.oldestFirst ? gt : lt;
    return this.#database.db
      .select()
      .from(auditEvent)
      .where(
        and(
          accountId === '' ? undefined : eq(auditEvent.accountId, accountId),
          page.beyondId === undefined ? undefined : beyond(id, page.beyondId),
          page.search === ''
            ? undefined
            : sql`strpos(lower(concat_ws(' ', ${action}, ${subjectId}, ${keyId}, array_to_string(${fields}, ' '))),
              lower(${page.search})) > 0`,
          page.subjectId === undefined ? undefined : eq(auditEvent.subjectId, page.subjectId),
          page.action === undefined ? undefined : eq(action, page.action),
          page.since === undefined ? undefined : gte(auditEvent.at, page.since),
          page.until === undefined ? undefined : lt(auditEvent.at, page.until),
        ),
      )
      .orderBy(page.oldestFirst ? asc(id) : desc(id))
      .limit(page.limit);
  }

  /** Deletes changes that are older than `days`, at most `limit`, the oldest first. Returns their number. */
  async reap(days: number, limit: number): Promise<number> {
    const rows = await this.#database.sql`
      DELETE FROM audit_event WHERE at < now() - ${days}::int * interval '1 day'
        AND id IN (SELECT id FROM audit_event ORDER BY id LIMIT ${limit})`;
    return rows.count;
  }
}
