/** Stops a pod and removes its files. */
import type { Actor } from '../domain/access.ts';
import { refusePod } from './change-pod.ts';
import type { PodChanges } from './change-pod.ts';

/** Its agent removes the files as soon as it hears of it. NOT_FOUND; POD_FIXED: it is a worker. */
export async function deletePod(context: PodChanges, actor: Actor, id: string): Promise<void> {
  const machineId = await context.pods.remove(id, actor);
  if (machineId === undefined) return refusePod(context, actor.accountId, id);
  context.onDesired([machineId]);
}
