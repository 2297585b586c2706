/** The desired status of a pod, as the public API names it. */

import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { PodStatus } from '@slipway/proto/gen/slipway/v1/pod';

/** The public word. */
export function desiredStatusOf(pod: Pod): 'RUNNING' | 'EXITED' {
  return pod.desiredStatus === PodStatus.EXITED ? 'EXITED' : 'RUNNING';
}
