/** Columns of batches, and what several statements on them share. */
import { and, eq, inArray, sql } from '@slipway/drizzle/orm';
import { account } from '@slipway/drizzle/schema/account';
import { accountFile } from '@slipway/drizzle/schema/batches/account-file';
import { batch } from '@slipway/drizzle/schema/batches/batch';
import type { Batch, BatchView } from '../../domain/batches/batch.ts';
import type { FileScope } from '../../domain/batches/file.ts';
import type { Database, Transaction } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

/** Returns the batch of a row. */
export function batchFromRow(row: typeof batch.$inferSelect): Batch {
  return { ...row, kind: row.kind as Batch['kind'], state: row.state as Batch['state'] };
}

/** Returns the condition for one batch that a caller sees. `endpointId`: of this endpoint; empty: of a file. */
export function ownBatch(scope: FileScope, id: string, endpointId: string) {
  return and(eq(batch.id, id), eq(batch.endpointId, endpointId), visibleBatches(scope));
}

/** Returns the condition for the batches that a caller sees. */
export function visibleBatches({ accountId, onlyKeyId }: FileScope) {
  return and(eq(batch.accountId, accountId), onlyKeyId === '' ? undefined : eq(batch.keyId, onlyKeyId));
}

/** Locks a batch that a caller sees, and returns it. */
export async function lockBatch(
  tx: Transaction,
  scope: FileScope,
  id: string,
  endpointId: string,
): Promise<Batch | undefined> {
  const [row] = await tx
    .select()
    .from(batch)
    .where(ownBatch(scope, id, endpointId))
    .for('update');
  return row && batchFromRow(row);
}

/** Returns batches with what their owner sees besides, in the same order. */
export async function viewBatches({ db, sql: raw }: Database, batches: readonly Batch[]): Promise<BatchView[]> {
  if (batches.length === 0) return [];
  const ids = batches.map(({ id }) => id);
  const files = await db
    .select({ id: accountFile.id, batchId: accountFile.batchId, side: accountFile.side })
    .from(accountFile)
    .where(
      and(inArray(accountFile.batchId, ids), eq(accountFile.state, 'READY'), sql`${accountFile.expiresAt} > now()`),
    );
  const open = await raw<{ id: string; submitted: number; endpoint_id: string | null; job_id: string | null }[]>`
    SELECT g.id, o.submitted, f.endpoint_id, f.job_id FROM unnest(${textArray(ids)}::text[]) AS g(id)
    CROSS JOIN LATERAL (SELECT count(*)::int AS submitted FROM batch_item i
      WHERE i.batch_id = g.id AND i.state = 'SUBMITTED') AS o
    LEFT JOIN LATERAL (SELECT i.endpoint_id, i.job_id FROM batch_item i
      WHERE i.batch_id = g.id AND i.state = 'SUBMITTED' ORDER BY i.number LIMIT 1) AS f ON true`;
  const fileOf = (id: string, side: string): string =>
    files.find((file) => file.batchId === id && file.side === side)?.id ?? '';
  return batches.map((each) => {
    const now = open.find(({ id }) => id === each.id);
    return {
      ...each,
      submitted: now?.submitted ?? 0,
      outputFileId: fileOf(each.id, 'OUTPUT'),
      errorFileId: fileOf(each.id, 'ERROR'),
      oldestJob: now?.job_id ? { endpointId: now.endpoint_id!, jobId: now.job_id } : undefined,
    };
  });
}

/** Locks an account, so that two creations at once cannot both take the last place within its limit. */
export async function lockAccount(tx: Transaction, accountId: string): Promise<void> {
  await tx.select({ id: account.id }).from(account).where(eq(account.id, accountId)).for('no key update');
}

/** Returns the number of batches. */
export async function countBatches(tx: Transaction, where: ReturnType<typeof and>): Promise<number> {
  const [row] = await tx.select({ count: sql<number>`count(*)::int` }).from(batch).where(where);
  return row!.count;
}

/** Returns an instant of the database's clock. */
export function afterNow(ms: number) {
  return sql`now() + ${ms}::bigint * interval '1 ms'`;
}
