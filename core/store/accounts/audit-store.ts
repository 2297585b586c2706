/** Reads the audit trail, for people, and records what no transaction of a change records (see audit-rows.ts). */
import { and, asc, desc, eq, gt, gte, inArray, lt, ne, sql } from '@slipway/drizzle/orm';
import { apiKey } from '@slipway/drizzle/schema/api-key';
import { auditEvent } from '@slipway/drizzle/schema/audit-event';
import type { Database } from '../sql/database.ts';
import type { Change } from './audit-rows.ts';
import { recordChange } from './audit-rows.ts';

/** A recorded change. */
export type AuditEvent = typeof auditEvent.$inferSelect;

/** A refused attempt. Empty account: the key is unknown, or the operator's. */
export type RefusedAttempt = Pick<
  AuditEvent,
  'keyId' | 'action' | 'subjectId' | 'address' | 'via' | 'refused' | 'detail' | 'attempts'
> & { accountId: string };

/** Days for which refused attempts are kept. */
const REFUSED_DAYS = 30;

/** Filter and order of changes. */
interface AuditSelection {
  limit: number;
  /** Only changes after this one, in the requested order. */
  beyondId?: number;
  subjectId?: string;
  /** Text in the action, the subject, the key, their names, the address or a field. Empty: all. */
  search: string;
  action?: string | undefined;
  address?: string | undefined;
  /** True: only refused attempts. False: only changes. */
  refused?: boolean | undefined;
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
    const { id, action, subjectId, keyId, fields, keyName, subjectName, address } = auditEvent;
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
            : sql`strpos(lower(concat_ws(' ', ${action}, ${subjectId}, ${subjectName}, ${keyId}, ${keyName}, ${address},
              array_to_string(${fields}, ' '))),
              lower(${page.search})) > 0`,
          page.subjectId === undefined ? undefined : eq(auditEvent.subjectId, page.subjectId),
          page.action === undefined ? undefined : eq(action, page.action),
          page.address === undefined ? undefined : eq(address, page.address),
          page.refused === undefined ? undefined : (page.refused ? ne : eq)(auditEvent.refused, ''),
          page.since === undefined ? undefined : gte(auditEvent.at, page.since),
          page.until === undefined ? undefined : lt(auditEvent.at, page.until),
        ),
      )
      .orderBy(page.oldestFirst ? asc(id) : desc(id))
      .limit(page.limit);
  }

  /** Records a change that was made before, by many transactions. */
  async record(change: Change): Promise<void> {
    await recordChange(this.#database.db, change);
  }

  /** Records attempts that were refused, with the names of their keys. */
  async recordRefused(attempts: readonly RefusedAttempt[]): Promise<void> {
    const named = await this.#database.db
      .select({ id: apiKey.id, name: apiKey.name })
      .from(apiKey)
      .where(inArray(apiKey.id, [...new Set(attempts.map(({ keyId }) => keyId))]));
    const names = new Map(named.map(({ id, name }) => [id, name]));
    await this.#database.db.insert(auditEvent).values(
      attempts.map(({ accountId, ...attempt }) => ({
        ...attempt,
        accountId: accountId || null,
        keyName: names.get(attempt.keyId) ?? '',
      })),
    );
  }

  /** Deletes refused attempts that are older than REFUSED_DAYS, at most `limit`. Returns their number. */
  async reapRefused(limit: number): Promise<number> {
    const rows = await this.#database.sql`
      DELETE FROM audit_event WHERE id IN (
        SELECT id FROM audit_event WHERE refused <> '' AND at < now() - ${REFUSED_DAYS}::int * interval '1 day'
        LIMIT ${limit})`;
    return rows.count;
  }

  /** Deletes changes that are older than `days`, at most `limit`, the oldest first. Returns their number. */
  async reap(days: number, limit: number): Promise<number> {
    const rows = await this.#database.sql`
      DELETE FROM audit_event WHERE at < now() - ${days}::int * interval '1 day'
        AND id IN (SELECT id FROM audit_event ORDER BY id LIMIT ${limit})`;
    return rows.count;
  }
}
