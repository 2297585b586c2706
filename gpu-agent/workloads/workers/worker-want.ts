/**
 * Maps the state that core desires of a worker to the desired state of its workload, and holds the agent's own verdict
 * on its end.
 */
import type { DesiredWorker } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel } from '@slipway/proto/gen/slipway/v1/machine';
import type { Want } from '../step.ts';

/** Verdict on the end of a worker, if the agent ended it. */
export interface EndStatus {
  state: WorkerState;
  /** Empty if it ended as requested. */
  reason: string;
}

/** Returns whether the workload is wanted, running or in standby. */
export function isWanted(want: Want): boolean {
  return want === 'running' || want === 'standby' || want === 'host-standby';
}

/** Returns the desired state of its workload. */
export function wantOf({ desired, standbyLevel }: Pick<DesiredWorker, 'desired' | 'standbyLevel'>): Want {
  if (desired === DesiredState.DRAIN) return 'draining';
  if (desired !== DesiredState.FREEZE) return 'running';
  return standbyLevel === StandbyLevel.HOST ? 'host-standby' : 'standby';
}
