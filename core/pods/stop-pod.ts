/** Stops a pod; its files stay, its GPUs are free. */
import type { Actor } from '../domain/access.ts';
import { checkUnlocked } from '../domain/pod.ts';
import type { PodView } from '../store/pod-view-store.ts';
import { changePod } from './change-pod.ts';
import type { PodChanges } from './change-pod.ts';

/** One that stands still is left alone. POD_FIXED: it is locked. */
export async function stopPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, (pod) => {
    checkUnlocked(pod);
    return pod.desired === 'EXITED' ? undefined : { action: 'StopPod', fields: [], run: 'not' };
  });
}
