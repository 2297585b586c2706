/** The part of a worker's message that may change while it lives. */
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { StandbyLevel } from '@slipway/proto/gen/slipway/v1/machine';
import type { DesiredWorkerRow } from '../store/machines/worker-store.ts';

/** Returns the desired state of a worker as a message. */
export function desiredStateOf(row: DesiredWorkerRow): DesiredState {
  return DesiredState[row.desired];
}

/** Returns the level that a worker should have on standby. */
export function standbyLevelOf({ desired, standbyLevel }: DesiredWorkerRow): StandbyLevel {
  return desired === 'FREEZE' ? StandbyLevel[standbyLevel] : StandbyLevel.UNSPECIFIED;
}
