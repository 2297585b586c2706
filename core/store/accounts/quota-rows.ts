/** Reads quotas of accounts and their use. */

import type { QuotaState } from '../../domain/accounts/quota.ts';
import { NO_QUOTA } from '../../domain/accounts/quota.ts';
import type { Statement } from '../sql/database.ts';

interface QuotaRow {
  worker_quota: number | null;
  gpu_quota: number | null;
  workers: number;
  gpus: number;
}

/**
 * Returns an account's quota of workers and GPUs, and its use. Standby workers do not count; crashed ones use no GPUs.
 * Exact until the transaction of `statement` ends if that holds the placement lock: without it none adds workers, and
 * no pod gets GPUs. Does not count for an account without quotas.
 */
export async function readQuotaState(statement: Statement, accountId: string): Promise<QuotaState> {
  const [row] = await statement<QuotaRow[]>`
    SELECT a.worker_quota, a.gpu_quota, coalesce(w.workers, 0)::int AS workers,
      (coalesce(w.gpus, 0) + coalesce(p.gpus, 0))::int AS gpus
    FROM account a LEFT JOIN LATERAL (
      SELECT count(*) AS workers, sum(cardinality(w.gpu_uuids)) FILTER (WHERE w.state <> 'UNHEALTHY') AS gpus
      FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
      WHERE num_nonnulls(a.worker_quota, a.gpu_quota) > 0 AND e.account_id = a.id AND w.ended_at IS NULL
        AND w.endpoint_id <> ''
        AND w.desired <> 'FREEZE'
    ) w ON true LEFT JOIN LATERAL (
      SELECT sum(cardinality(gpu_uuids)) AS gpus FROM pod WHERE a.gpu_quota IS NOT NULL AND account_id = a.id
        AND desired = 'RUNNING'
    ) p ON true
    WHERE a.id = ${accountId}`;
  if (!row) return NO_QUOTA;
  return { quota: { workers: row.worker_quota, gpus: row.gpu_quota }, use: { workers: row.workers, gpus: row.gpus } };
}

/** Returns which of the given accounts have a quota of workers or GPUs. */
export async function accountsWithQuota(statement: Statement, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await statement<{ id: string }[]>`
    SELECT id FROM account WHERE id = ANY(string_to_array(${accountIds.join()}, ','))
      AND num_nonnulls(worker_quota, gpu_quota) > 0`;
  return new Set(rows.map(({ id }) => id));
}
