/** Who competes for GPUs: endpoints of other accounts whose workers found no place, and what each account has. Read under the placement lock. */
import type { GpuContest, GpuRival, GpuShare } from '../domain/fair-share.ts';
import type { PlacementRequest } from '../domain/placement-filters.ts';
import { workerOverQuota } from '../domain/quota.ts';
import type { Sql } from './database.ts';
import { asked } from './placement-view.ts';

/** Endpoints of others that are looked at, those that have waited longest first. */
const RIVALS_MAX = 100;

interface ShareRow extends GpuShare {
  workers: number;
  workerQuota: number | null;
  gpuQuota: number | null;
}

/** Undefined: nobody else waits for GPUs. */
export async function readGpuContest(sql: Sql, accountId: string): Promise<GpuContest | undefined> {
  const rows = await sql<(PlacementRequest & { accountId: string; waiting: number })[]>`
    SELECT ${asked(sql)}, e.account_id AS "accountId", d.throttled AS waiting FROM scale_decision d JOIN endpoint e ON e.id = d.endpoint_id
    WHERE d.throttled > 0 AND e.gpu_count > 0 AND e.workers_max > 0 AND e.account_id <> ${accountId} ORDER BY d.decided_at, e.id LIMIT ${RIVALS_MAX}`;
  if (rows.length === 0) return undefined;
  const shares = await readShares(sql, [accountId, ...new Set(rows.map((row) => row.accountId))]);
  const own = shares.get(accountId);
  const rivals = rows.flatMap(({ accountId: theirs, waiting, ...request }): GpuRival[] => {
    const share = shares.get(theirs);
    if (!share) return [];
    const state = { quota: { workers: share.workerQuota, gpus: share.gpuQuota }, use: share };
    return workerOverQuota(state, request.gpuCount) === undefined ? [{ accountId: theirs, request, waiting }] : [];
  });
  if (!own || rivals.length === 0) return undefined;
  const only = ({ accountId: id, gpus, weight }: GpuShare): GpuShare => ({ accountId: id, gpus, weight });
  return { own: only(own), others: [...shares.values()].filter((share) => share !== own).map(only), rivals };
}

/** GPUs of frozen workers count for nobody: they go to whoever needs them. */
async function readShares(sql: Sql, accountIds: readonly string[]): Promise<Map<string, ShareRow>> {
  const rows = await sql<ShareRow[]>`
    SELECT a.id AS "accountId", a.gpu_weight AS weight, a.worker_quota AS "workerQuota", a.gpu_quota AS "gpuQuota", w.workers,
      (w.gpus + coalesce((SELECT sum(cardinality(gpu_uuids)) FROM pod WHERE account_id = a.id AND desired = 'RUNNING'), 0))::int AS gpus
    FROM account a CROSS JOIN LATERAL (
      SELECT count(*)::int AS workers, coalesce(sum(cardinality(w.gpu_uuids)), 0) AS gpus FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
      WHERE e.account_id = a.id AND w.ended_at IS NULL AND w.desired <> 'FREEZE'
    ) w WHERE a.id = ANY(${[...accountIds]})`;
  return new Map(rows.map((row) => [row.accountId, row]));
}
