/** Lists pods and, if asked for, workers as pods. */
import type { PodView } from '../store/pod-view-store.ts';
import type { PodContext } from './context.ts';

/** Which ones. */
export interface PodSelection {
  includeWorkers: boolean;
  /** Only the workers of this endpoint; empty: all pods. */
  endpointId: string;
}

/** Oldest first. `only`: the endpoints whose workers a restricted key may see; empty = all. */
export async function listPods(
  { podViews }: Pick<PodContext, 'podViews'>, accountId: string, { includeWorkers, endpointId }: PodSelection, only: readonly string[],
): Promise<PodView[]> {
  if (endpointId !== '') return podViews.workers(accountId, [endpointId]);
  const pods = await podViews.pods(accountId);
  if (!includeWorkers) return pods;
  const workers = await podViews.workers(accountId, only);
  return [...pods, ...workers].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}
