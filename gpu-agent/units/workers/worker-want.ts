/** What core wants of a worker, as its unit takes it, and what the agent itself says of its end. */
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Want } from '../step.ts';

/** What the end of a worker will mean, when the agent ended it. */
export interface EndStatus {
  state: WorkerState;
  /** Empty when it simply ended as it was told to. */
  reason: string;
}

/** For its unit. */
export function wantOf(desired: DesiredState): Want {
  if (desired === DesiredState.DRAIN) return 'drain';
  return desired === DesiredState.FREEZE ? 'freeze' : 'run';
}
