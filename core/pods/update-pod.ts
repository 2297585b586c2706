/**
 * Changes some fields of a pod. Any change except of its name and its lock restarts a running pod with an empty disk.
 */

import type { Actor } from '../domain/accounts/permission.ts';
import { unlistedTypes } from '../domain/machines/gpu-pools.ts';
import type { PodSettings } from '../domain/pods/pod.ts';
import { checkPod, checkRunsThere, checkUnlocked, resetsPod } from '../domain/pods/pod.ts';
import { checkRegistry } from '../domain/resources/image-name.ts';
import type { PodView } from '../store/pods/pod-view-store.ts';
import type { PodContext } from './pod-context.ts';
import type { PodChanges } from './pods.ts';
import { changePod } from './pods.ts';

/** Fields to change. Absent fields do not change. */
export type PodUpdate = Partial<PodSettings>;

/**
 * Changes a pod and returns it. `fields`: names of the fields that the caller set. Throws POD_FIXED if it is locked and
 * this change does not unlock it. INVALID_REQUEST: a field is out of range. NO_CAPACITY: it gets or loses an image, and
 * its machine cannot run the result.
 */
export async function updatePod(
  context: PodChanges & Pick<PodContext, 'mayAsk'>,
  actor: Actor,
  id: string,
  update: PodUpdate,
  fields: readonly string[],
): Promise<PodView> {
  if (update.imageName !== undefined) checkRegistry('image_name', update.imageName, context.mayAsk);
  const reported = await context.machines.reportedTypes(update.gpuIds ?? []);
  const machines = update.imageName === undefined ? [] : await context.machines.view();
  return changePod(context, actor, id, (pod) => {
    const onlyLocks = Object.keys(update).every((field) => field === 'locked');
    if (update.locked !== false && !onlyLocks) checkUnlocked(pod);
    // Current values stay allowed even if no machine with such a GPU is left.
    checkPod({ ...pod, ...update }, new Set([...reported, ...unlistedTypes(pod.gpuIds)]));
    checkRunsThere({ ...pod, ...update }, machines);
    const reset = pod.desired === 'RUNNING' && resetsPod(pod, update);
    return { action: 'UpdatePod', fields, settings: update, ...(reset && { run: 'anew', emptyDisk: true }) };
  });
}
