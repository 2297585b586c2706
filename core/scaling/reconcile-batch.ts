/**
 * Batches reconciles in one transaction; on failure retries them one by one, so that one failing endpoint stops no
 * other.
 */

import { ReconcileTimeoutError } from '../store/scaling/transaction-monitor.ts';
import { isLockTimeout } from '../store/sql/transient.ts';

/**
 * After this many endpoints that wait for a lock even alone, the rest is left to the next resync: all of them need that
 * lock.
 */
const BLOCKED_MAX = 2;

/**
 * Reconciles a batch. `take` reconciles endpoints in one transaction and returns whether it was committed. Rejects with
 * the failure of an endpoint that fails alone.
 */
export async function reconcileBatch(
  endpointIds: readonly string[],
  take: (endpointIds: readonly string[]) => Promise<boolean>,
): Promise<void> {
  if (endpointIds.length === 1) return void (await take(endpointIds));
  let blocked = false;
  const committed = await take(endpointIds).catch((error: unknown) => {
    blocked = isBlocked(error);
    return false;
  });
  if (committed) return;
  if (blocked) return oneByOne(endpointIds, take);
  const each = await Promise.allSettled(endpointIds.map((id) => take([id])));
  for (const one of each) if (one.status === 'rejected') throw one.reason;
}

/** Retries sequentially: at once they would wait on all connections. */
async function oneByOne(
  endpointIds: readonly string[],
  take: (endpointIds: readonly string[]) => Promise<boolean>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const id of endpointIds) {
    await take([id]).catch((error: unknown) => failures.push(error));
    if (failures.filter(isBlocked).length === BLOCKED_MAX) break;
  }
  if (failures.length > 0) throw failures[0];
}

/** Returns whether a lock of another client stopped the transaction. */
function isBlocked(error: unknown): boolean {
  return error instanceof ReconcileTimeoutError || isLockTimeout(error);
}
