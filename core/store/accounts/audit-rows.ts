/** Writes the rows of the audit trail, each in the transaction of its change. */
import { auditEvent } from '@slipway/drizzle/schema/audit-event';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { Transaction } from '../sql/database.ts';

/** A change and its author. Empty account: it concerns the installation. */
interface Change extends Actor {
  /** Name of the RPC. */
  action: string;
  subjectId: string;
  /** Names of the fields that were set, never their values. */
  fields: readonly string[];
}

/** Records a change. `tx`: the transaction that makes it. */
export async function recordChange(tx: Transaction, change: Change): Promise<void> {
  const { accountId, keyId, action, subjectId, fields } = change;
  await tx.insert(auditEvent).values({ accountId: accountId || null, keyId, action, subjectId, fields: [...fields] });
}
