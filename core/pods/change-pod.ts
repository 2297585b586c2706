/** What all changes of a pod share: its lock, the refusal of workers, and the word to its machine. */
import type { Actor } from '../domain/access.ts';
import { podIsWorker, podNotFound, replacePod } from '../domain/pod.ts';
import type { Pod } from '../domain/pod.ts';
import type { PodChange } from '../store/pod-store.ts';
import type { PodView } from '../store/pod-view-store.ts';
import type { PodContext } from './context.ts';
import { getPod } from './get-pod.ts';

/** What changes need. */
export type PodChanges = Pick<PodContext, 'pods' | 'podViews' | 'machines' | 'onDesired'>;

/**
 * Does what `decide` says; undefined: nothing. Answers the pod after it. NOT_FOUND; POD_FIXED: it is a worker. NO_CAPACITY: it shall run
 * again and its machine has no room.
 */
export async function changePod(
  context: PodChanges, actor: Actor, id: string, decide: (current: Pod) => PodChange | undefined,
): Promise<PodView> {
  const changed = await context.pods.change(id, actor, decide, replacePod);
  if (!changed) return refusePod(context, actor.accountId, id);
  context.onDesired([changed.machineId]);
  return getPod(context, actor.accountId, id, []);
}

/** Says why there is no such pod. */
export async function refusePod({ podViews }: Pick<PodContext, 'podViews'>, accountId: string, id: string): Promise<never> {
  const worker = await podViews.worker(accountId, [], id);
  throw worker ? podIsWorker(id, worker.endpointId) : podNotFound(id);
}
