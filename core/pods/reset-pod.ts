/** Starts a pod anew with an empty disk; its network volume stays as it is. */
import type { Actor } from '../domain/access.ts';
import { checkUnlocked } from '../domain/pod.ts';
import type { PodView } from '../store/pod-view-store.ts';
import { changePod } from './change-pod.ts';
import type { PodChanges } from './change-pod.ts';

/** Starts one that stands still too. POD_FIXED: it is locked. NO_CAPACITY: it stands still and its GPUs are taken. */
export async function resetPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, (pod) => {
    checkUnlocked(pod);
    return { action: 'ResetPod', fields: [], run: 'anew', emptyDisk: true };
  });
}
