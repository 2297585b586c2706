/** Lets an EXITED pod run again on its machine, where its files are. */
import type { Actor } from '../domain/access.ts';
import type { PodView } from '../store/pod-view-store.ts';
import { changePod } from './change-pod.ts';
import type { PodChanges } from './change-pod.ts';

/** A running pod is left alone. NO_CAPACITY: its GPUs are taken. */
export async function startPod(context: PodChanges, actor: Actor, id: string): Promise<PodView> {
  return changePod(context, actor, id, (pod) => (
    pod.desired === 'RUNNING' ? undefined : { action: 'StartPod', fields: [], run: 'anew' }
  ));
}
