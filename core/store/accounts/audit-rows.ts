/** Who changed what: the rows, each written in the transaction of its change. */
import { auditEvent } from '@slipway/drizzle/schema/audit-event';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { Transaction } from '../sql/database.ts';

/** A change, and who made it. An empty account: it is about the installation. */
export interface Change extends Actor {
  /** Name of the rpc. */
  action: string;
  subjectId: string;
  /** Names of the fields that were set. Never their values. */
  fields: readonly string[];
}

/** Records a change; `tx` is the transaction that makes it. */
export async function recordChange(tx: Transaction, change: Change): Promise<void> {
  const { accountId, keyId, action, subjectId, fields } = change;
  await tx.insert(auditEvent).values({ accountId: accountId || null, keyId, action, subjectId, fields: [...fields] });
}
