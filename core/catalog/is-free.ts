/** Says which GPUs of connected machines are free. */
import type { PlacementGpu, PlacementMachine } from '../domain/scaling/placement-machine.ts';

/** Returns whether a new worker or pod could get this GPU: nothing is placed on a cordoned machine or a failed GPU. */
export function isFree({ cordoned }: PlacementMachine, { used, unhealthy }: PlacementGpu): boolean {
  return !cordoned && !used && unhealthy === '';
}
