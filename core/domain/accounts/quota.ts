/** Quotas of an account. The operator sets them; null means no limit. */
import { invalid } from '../settings/fields.ts';

/** Limits of an account. For the meaning of each field see access_service.proto, Quota. */
export interface Quota {
  workers: number | null;
  gpus: number | null;
  queuedJobs: number | null;
  requests: number | null;
  /** The account's share of GPUs when they are short. Null: 1. */
  gpuWeight: number | null;
}

/** Workers and GPUs that an account uses. */
interface QuotaUse {
  workers: number;
  gpus: number;
}

/** Quota and use that a placement is checked against. */
export interface QuotaState {
  quota: Pick<Quota, 'workers' | 'gpus'>;
  use: QuotaUse;
}

/** State of an account without a quota. Its use is not counted. */
export const NO_QUOTA: QuotaState = { quota: { workers: null, gpus: null }, use: { workers: 0, gpus: 0 } };

const HIGHEST: Record<keyof Quota, number> = {
  workers: 1_000_000,
  gpus: 1_000_000,
  queuedJobs: 1_000_000_000,
  requests: 1_000_000_000,
  gpuWeight: 1_000,
};
const NAMES: Record<keyof Quota, string> = {
  workers: 'workers',
  gpus: 'gpus',
  queuedJobs: 'queued_jobs',
  requests: 'requests',
  gpuWeight: 'gpu_weight',
};

/** Throws INVALID_REQUEST at the first number that is out of range. */
export function checkQuota(quota: Quota): void {
  for (const [field, highest] of Object.entries(HIGHEST) as [keyof Quota, number][]) {
    const value = quota[field];
    const lowest = field === 'gpuWeight' ? 1 : 0;
    if (value === null || (Number.isInteger(value) && value >= lowest && value <= highest)) continue;
    const absent = field === 'gpuWeight' ? '1' : 'no limit';
    throw invalid(
      `quota.${NAMES[field]} is ${value}, but must be a whole number from ${lowest} to ${highest}, or absent for ` +
        `${absent}`,
    );
  }
}

/** Returns why a worker with this many GPUs would exceed the quota. `undefined` if it would not. */
export function workerOverQuota(state: QuotaState, gpus: number): string | undefined {
  const { workers } = state.quota;
  if (workers !== null && state.use.workers >= workers)
    return `the account's quota of ${workers} ${workers === 1 ? 'worker' : 'workers'} is used up`;
  return gpusOverQuota(state, gpus);
}

/** Returns why this many more GPUs would exceed the quota. `undefined` if they would not. */
export function gpusOverQuota({ quota, use }: QuotaState, gpus: number): string | undefined {
  if (quota.gpus === null || gpus === 0 || use.gpus + gpus <= quota.gpus) return undefined;
  const total = `the account's quota of ${quota.gpus} ${quota.gpus === 1 ? 'GPU' : 'GPUs'}`;
  const left = Math.max(quota.gpus - use.gpus, 0);
  return left === 0
    ? `${total} is used up`
    : `of ${total} ${left} ${left === 1 ? 'is' : 'are'} left, and ${gpus} are needed`;
}

/** Returns the state after a placement. */
export function quotaAfter({ quota, use }: QuotaState, placed: QuotaUse): QuotaState {
  return { quota, use: { workers: use.workers + placed.workers, gpus: use.gpus + placed.gpus } };
}
