/** Claims ids that callers chose, for transactions that create a resource. */
import { sql } from '@slipway/drizzle/orm';
import { ENDPOINT_ID_REST_SECONDS, idTaken } from '../../domain/resources/wanted-id.ts';
import type { Transaction } from '../sql/database.ts';

/** First key of the advisory locks of chosen ids. */
const LOCK = 0x77616e74;

/**
 * Throws NAME_TAKEN unless no endpoint has the id, none had it lately in any account, and no job of one that had it is
 * left. Another transaction that claims it waits here until this one has ended.
 */
export async function claimEndpointId(tx: Transaction, id: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK}, hashtext(${id}))`);
  // The index of the trail begins with the account.
  const [found] = await tx.execute<{ taken: boolean }>(sql`
    SELECT EXISTS (SELECT FROM endpoint WHERE id = ${id})
      OR EXISTS (SELECT FROM job WHERE endpoint_id = ${id})
      OR EXISTS (SELECT FROM account a CROSS JOIN LATERAL (
        SELECT FROM audit_event v
        WHERE v.account_id = a.id AND v.subject_id = ${id} AND v.action = 'DeleteEndpoint' AND v.refused = ''
          AND v.at > now() - make_interval(secs => ${ENDPOINT_ID_REST_SECONDS})
        LIMIT 1) AS deleted) AS taken`);
  if (found?.taken) throw idTaken(id, 'endpoint');
}
