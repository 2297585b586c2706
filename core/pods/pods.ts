/** Reads, starts, stops, restarts, resets and deletes pods, and contains the common part of all changes. */
import type { Actor } from '../domain/accounts/permission.ts';
import type { Pod } from '../domain/pods/pod.ts';
import { checkUnlocked, podIsWorker, podNotFound, replacePod } from '../domain/pods/pod.ts';
import type { PodChange } from '../store/pods/pod-store.ts';
import type { PodView } from '../store/pods/pod-view-store.ts';
import type { PodContext } from './pod-context.ts';

/**
 * Returns a pod, or a worker shown as a pod. `only`: endpoints whose workers a restricted key may see (it sees no
 * pods); empty: all. Throws NOT_FOUND if it is not in this account.
 */
export async function getPod(
  { podViews }: Pick<PodContext, 'podViews'>,
  accountId: string,
  id: string,
  only: readonly string[],
): Promise<PodView> {
  const found =
    (only.length === 0 ? await podViews.pod(accountId, id) : undefined) ?? (await podViews.worker(accountId, only, id));
  if (!found) throw podNotFound(id);
  return found;
}

/**
 * Starts an EXITED pod on its machine, where its files are. A running pod does not change. Throws NO_CAPACITY if its
 * GPUs are taken.
 */
export async function startPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, (pod) =>
    pod.desired === 'RUNNING' ? undefined : { action: 'StartPod', fields: [], run: 'anew' },
  );
}

/** Stops a pod. Its files stay, its GPUs are freed. A stopped pod does not change. Throws POD_FIXED if it is locked. */
export async function stopPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, (pod) => {
    checkUnlocked(pod);
    return pod.desired === 'EXITED' ? undefined : { action: 'StopPod', fields: [], run: 'not' };
  });
}

/**
 * Restarts a pod's process, or starts a stopped pod. Its files stay. Throws NO_CAPACITY if it is stopped and its GPUs
 * are in use.
 */
export async function restartPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, () => ({ action: 'RestartPod', fields: [], run: 'anew' }));
}

/**
 * Restarts a pod with an empty disk, or starts a stopped pod with one. Its network volume stays. Throws POD_FIXED if it
 * is locked. NO_CAPACITY: it is stopped and its GPUs are in use.
 */
export async function resetPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, (pod) => {
    checkUnlocked(pod);
    return { action: 'ResetPod', fields: [], run: 'anew', emptyDisk: true };
  });
}

/**
 * Stops and deletes a pod. Its agent removes the files once it is notified. Throws NOT_FOUND if there is no such pod.
 * POD_FIXED: it is a worker.
 */
export async function deletePod(context: PodChanges, actor: Actor, id: string): Promise<void> {
  const machineId = await context.pods.remove(id, actor);
  if (machineId === undefined) return rejectMissingPod(context, actor.accountId, id);
  context.onDesired([machineId]);
}

export type PodChanges = Pick<PodContext, 'pods' | 'podViews' | 'machines' | 'onDesired'>;

/**
 * Applies the change that `decide` returns (`undefined`: none) and returns the pod. Throws NOT_FOUND if there is no
 * such pod. POD_FIXED: it is a worker. NO_CAPACITY: it must run again and its machine has no capacity.
 */
export async function changePod(
  context: PodChanges,
  actor: Actor,
  id: string,
  decide: (current: Pod) => PodChange | undefined,
): Promise<PodView> {
  const changed = await context.pods.change(id, actor, decide, replacePod);
  if (!changed) return rejectMissingPod(context, actor.accountId, id);
  context.onDesired([changed.machineId]);
  return getPod(context, actor.accountId, id, []);
}

/** Throws the error for a pod that does not exist. */
async function rejectMissingPod(
  { podViews }: Pick<PodContext, 'podViews'>,
  accountId: string,
  id: string,
): Promise<never> {
  const worker = await podViews.worker(accountId, [], id);
  throw worker ? podIsWorker(id, worker.endpointId) : podNotFound(id);
}
