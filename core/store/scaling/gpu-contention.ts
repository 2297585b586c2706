/**
 * Reads who competes for GPUs: endpoints with unplaced workers, and the GPUs of each account. Runs under the placement
 * lock.
 */

import { workerOverQuota } from '../../domain/accounts/quota.ts';
import type { GpuCompetitor, GpuContention } from '../../domain/scaling/fair-share.ts';
import type { GpuShare } from '../../domain/scaling/gpu-reservation.ts';
import type { PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import type { PreemptibleWorker, PreemptionCandidates } from '../../domain/scaling/preemption.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { lockedInOrder } from '../sql/worker-order.ts';
import { readMachinesWithout } from './image-machines.ts';
import { asked } from './placement-view.ts';
import { crashed } from './scale-samples.ts';
import { lockPlacement } from './standby-rows.ts';

/** Most competing endpoints that are read: first the one of each account that waits longest, then the second ones. */
const RIVALS_MAX = 100;

interface ShareRow extends GpuShare {
  workers: number;
  workerQuota: number | null;
  gpuQuota: number | null;
}

/** An endpoint whose workers are to be placed. */
interface GpuRequester {
  id: string;
  accountId: string;
  gpuCount: number;
}

type RivalRow = PlacementRequest & {
  id: string;
  accountId: string;
  waiting: number;
  sinceMs: number;
  ownSinceMs: number;
  paused: string[];
};

/** Returns whether any workers wait for GPUs. */
export async function areGpusShort(sql: Sql): Promise<boolean> {
  const rows = await sql`
    SELECT FROM scale_decision d JOIN endpoint e ON e.id = d.endpoint_id WHERE d.throttled > 0 AND e.gpu_count > 0
      AND e.workers_max > 0 LIMIT 1`;
  return rows.length > 0;
}

/** Returns the competitors of an endpoint, `undefined` if no other endpoint waits for GPUs. */
export async function readGpuContention(sql: Sql, asker: GpuRequester): Promise<GpuContention | undefined> {
  const { accountId } = asker;
  const rows = await readRivals(sql, asker);
  if (rows.length === 0) return undefined;
  const shares = await readShares(sql, [accountId, ...new Set(rows.map((row) => row.accountId))]);
  const own = shares.get(accountId);
  const waiting = rows.filter(({ accountId: theirs, gpuCount }) => {
    const share = shares.get(theirs);
    return (
      share &&
      workerOverQuota({ quota: { workers: share.workerQuota, gpus: share.gpuQuota }, use: share }, gpuCount) ===
        undefined
    );
  });
  if (!own || waiting.length === 0) return undefined;
  const only = ({ accountId: id, gpus, weight }: GpuShare): GpuShare => ({ accountId: id, gpus, weight });
  const lacking = await readMachinesWithout(sql, waiting);
  const all = waiting.map(({ accountId: theirs, waiting: count, sinceMs, ownSinceMs: _, paused, ...request }) => {
    const without = [...paused, ...(lacking.get(request.id) ?? [])];
    return {
      accountId: theirs,
      request,
      waiting: count,
      sinceMs,
      ...(without.length > 0 && { paused: without }),
    };
  });
  return {
    own: only(own),
    others: [...shares.values()].filter((share) => share !== own).map(only),
    rivals: all
      .filter((rival) => rival.accountId !== accountId)
      .map(({ sinceMs: _, ...rival }): GpuCompetitor => rival),
    large: {
      ownSinceMs: waiting[0]!.ownSinceMs,
      waiters: all.filter(({ request }) => request.gpuCount > asker.gpuCount),
    },
  };
}

/**
 * Returns endpoints of other accounts, and all endpoints whose workers need more GPUs. Many endpoints of one account do
 * not displace the endpoints of another one.
 */
async function readRivals(sql: Sql, { id, accountId, gpuCount }: GpuRequester): Promise<RivalRow[]> {
  const sinceMs = (endpointId: Fragment, createdAt: Fragment) => sql`(extract(epoch FROM now() - coalesce(
    (SELECT max(created_at) FROM worker WHERE endpoint_id = ${endpointId}), ${createdAt})) * 1000)::bigint`;
  return sql<RivalRow[]>`
    SELECT ${asked(sql)}, e.account_id AS "accountId", d.throttled AS waiting,
      ${sinceMs(sql`e.id`, sql`e.created_at`)} AS "sinceMs",
      ${sinceMs(sql`${id}`, sql`(SELECT created_at FROM endpoint WHERE id = ${id})`)} AS "ownSinceMs",
      ARRAY(SELECT DISTINCT c.machine_id FROM worker c
        WHERE c.endpoint_id = e.id AND c.version = e.version AND ${crashed(sql)} AND c.retry_at > now()) AS paused
    FROM (
      SELECT s.endpoint_id, s.throttled, s.decided_at,
        row_number() OVER (PARTITION BY o.account_id ORDER BY s.decided_at, o.id) AS place
      FROM scale_decision s JOIN endpoint o ON o.id = s.endpoint_id
      WHERE s.throttled > 0 AND o.gpu_count > 0 AND o.workers_max > 0
        AND (o.account_id <> ${accountId} OR o.gpu_count > ${gpuCount})
      ORDER BY place, s.decided_at, o.id LIMIT ${RIVALS_MAX}) AS d
    JOIN endpoint e ON e.id = d.endpoint_id ORDER BY d.place, d.decided_at, e.id`;
}

/**
 * Returns which of these workers still run and which drain already, with the GPUs of each account that has one of them.
 * Returns `undefined` if none runs.
 */
export async function readPreemptible(
  sql: Sql,
  accountId: string,
  workerIds: readonly string[],
): Promise<PreemptionCandidates | undefined> {
  const workers = await sql<PreemptibleWorker[]>`
    SELECT w.id, e.account_id AS "accountId", w.machine_id AS "machineId", w.gpu_uuids AS "gpuUuids",
      w.desired = 'DRAIN' AS draining
    FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
    WHERE w.ended_at IS NULL AND w.machine_id <> '' AND w.gpu_uuids <> '{}' AND w.state <> 'UNHEALTHY'
      AND (w.desired = 'DRAIN' OR (w.desired = 'RUN' AND w.id = ANY(${[...workerIds]}))) ORDER BY w.id`;
  if (!workers.some(({ draining }) => !draining)) return undefined;
  const shares = await readShares(sql, [...new Set([accountId, ...workers.map((worker) => worker.accountId)])]);
  const own = shares.get(accountId);
  return own && { own, others: [...shares.values()].filter((share) => share !== own), workers };
}

/** Returns the GPUs of accounts, without GPUs of standby and crashed workers, which any account may take. */
async function readShares(sql: Sql, accountIds: readonly string[]): Promise<Map<string, ShareRow>> {
  const rows = await sql<ShareRow[]>`
    SELECT a.id AS "accountId", a.gpu_weight AS weight, a.worker_quota AS "workerQuota", a.gpu_quota AS "gpuQuota",
      w.workers,
      (w.gpus + coalesce((SELECT sum(cardinality(gpu_uuids)) FROM pod WHERE account_id = a.id AND desired = 'RUNNING'),
        0))::int AS gpus
    FROM account a CROSS JOIN LATERAL (
      SELECT count(*)::int AS workers, coalesce(sum(cardinality(w.gpu_uuids)) FILTER (WHERE w.state <> 'UNHEALTHY'),
        0) AS gpus
      FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
      WHERE e.account_id = a.id AND w.ended_at IS NULL AND w.endpoint_id <> '' AND w.desired <> 'FREEZE'
    ) w WHERE a.id = ANY(${[...accountIds]})`;
  return new Map(rows.map((row) => [row.accountId, row]));
}

/**
 * Drains workers for an endpoint that needs their GPUs; they finish their jobs first. Returns the workers that were not
 * draining yet.
 */
export async function preemptWorkers(
  sql: Sql,
  workerIds: readonly string[],
  gaveWayTo: string,
): Promise<{ id: string; machineId: string }[]> {
  if (workerIds.length === 0) return [];
  const going = lockedInOrder(sql, sql`id = ANY(${[...workerIds]}) AND desired IN ('RUN', 'FREEZE')`);
  const [, drained] = await Promise.all([
    lockPlacement(sql),
    sql<{ id: string; machineId: string }[]>`
    UPDATE worker w SET desired = 'DRAIN', desired_at = now(), gave_way_to = ${gaveWayTo} FROM ${going} AS l
      WHERE w.id = l.id
    RETURNING w.id, w.machine_id AS "machineId"`,
  ]);
  return drained;
}
