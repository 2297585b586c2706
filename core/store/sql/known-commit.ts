/** Transactions whose end can be found out after the answer to their COMMIT was lost. */
import { LostAnswerError } from '@slipway/kit/lifecycle/meter-writer';
import type { Sql } from './database.ts';
import { inTransaction } from './database.ts';
import { isTransient } from './transient.ts';

/** The server does not know the transaction: another one has taken over, and the commit did not reach it. */
const UNKNOWN_TRANSACTION = '22023';

/** Runs statements in one transaction. Throws LostAnswerError if it may have been committed. */
export async function inKnownTransaction(sql: Sql, work: (tx: Sql) => Promise<unknown>): Promise<void> {
  let id: string | undefined;
  try {
    await inTransaction(sql, async (tx) => {
      const [row] = await tx<[{ id: string }]>`SELECT pg_current_xact_id()::text AS id`;
      await work(tx);
      id = row.id;
    });
  } catch (error) {
    const begun = id;
    if (begun === undefined || !isTransient(error)) throw error;
    throw new LostAnswerError(error, () => isCommitted(sql, begun));
  }
}

/** Rejects while the server still works on the transaction. */
async function isCommitted(sql: Sql, id: string): Promise<boolean> {
  const status = await sql<{ status: string | null }[]>`SELECT pg_xact_status(${id}::text::xid8) AS status`.then(
    ([row]) => row?.status,
    (error: unknown) => {
      if ((error as { code?: unknown }).code === UNKNOWN_TRANSACTION) return 'aborted';
      throw error;
    },
  );
  if (status === 'in progress') throw new Error('a transaction whose answer was lost has not ended yet');
  return status === 'committed';
}
