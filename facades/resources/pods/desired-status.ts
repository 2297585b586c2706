/** The desired status of a pod in the words of the public API. */

import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { PodStatus } from '@slipway/proto/gen/slipway/v1/pod';

/** Returns the public word. */
export function desiredStatusOf(pod: Pod): 'RUNNING' | 'EXITED' {
  return pod.desiredStatus === PodStatus.EXITED ? 'EXITED' : 'RUNNING';
}
