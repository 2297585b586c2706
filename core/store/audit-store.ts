/** Who changed what. Each row is written in the transaction of its change. */
import { and, desc, eq, lt } from '../../drizzle/orm.ts';
import { auditEvent } from '../../drizzle/schema/audit-event.ts';
import type { Actor } from '../domain/permission.ts';
import type { Database, Transaction } from './database.ts';

/** A change, and who made it. An empty account: it is about the installation. */
export interface Change extends Actor {
  /** Name of the rpc. */
  action: string;
  subjectId: string;
  /** Names of the fields that were set. Never their values. */
  fields: readonly string[];
}

/** A change that was made. */
export type AuditEvent = typeof auditEvent.$inferSelect;

/** Records a change; `tx` is the transaction that makes it. */
export async function recordChange(tx: Transaction, change: Change): Promise<void> {
  const { accountId, keyId, action, subjectId, fields } = change;
  await tx.insert(auditEvent).values({ accountId: accountId || null, keyId, action, subjectId, fields: [...fields] });
}

export class AuditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Changes of an account, all when it is empty, newest first: at most `limit`, before the event `beforeId` and of one thing where given. */
  async list(accountId: string, page: { limit: number; beforeId?: number; subjectId?: string }): Promise<AuditEvent[]> {
    return this.#database.db.select().from(auditEvent).where(and(
      accountId === '' ? undefined : eq(auditEvent.accountId, accountId),
      page.beforeId === undefined ? undefined : lt(auditEvent.id, page.beforeId),
      page.subjectId === undefined ? undefined : eq(auditEvent.subjectId, page.subjectId),
    )).orderBy(desc(auditEvent.id)).limit(page.limit);
  }
}
