/** Starts a pod's process anew; its files stay. */
import type { Actor } from '../domain/access.ts';
import type { PodView } from '../store/pod-view-store.ts';
import { changePod } from './change-pod.ts';
import type { PodChanges } from './change-pod.ts';

/** Starts one that stands still too. NO_CAPACITY: it stands still and its GPUs are taken. */
export async function restartPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, () => ({ action: 'RestartPod', fields: [], run: 'anew' }));
}
