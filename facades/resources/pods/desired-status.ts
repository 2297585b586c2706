/** What a pod shall do, for the public. */

import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import { PodStatus } from '../../../proto/gen/slipway/v1/pod.ts';

/** The public word. */
export function desiredStatusOf(pod: Pod): 'RUNNING' | 'EXITED' {
  return pod.desiredStatus === PodStatus.EXITED ? 'EXITED' : 'RUNNING';
}
