/** Reads a pod, or a worker as one. */
import { podNotFound } from '../domain/pod.ts';
import type { PodView } from '../store/pod-view-store.ts';
import type { PodContext } from './context.ts';

/** `only`: the endpoints whose workers a restricted key may see, which sees no pods; empty = all. NOT_FOUND: not in this account. */
export async function getPod(
  { podViews }: Pick<PodContext, 'podViews'>, accountId: string, id: string, only: readonly string[],
): Promise<PodView> {
  const found = (only.length === 0 ? await podViews.pod(accountId, id) : undefined) ?? await podViews.worker(accountId, only, id);
  if (!found) throw podNotFound(id);
  return found;
}
