/** Builds the report to core about the GPU memory of a worker. Pure. */
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { WorkerMemory } from './worker-memory.ts';

type MemoryFields = Pick<
  WorkerReport,
  'standbyLevel' | 'gpuMemoryBytes' | 'lastOffload' | 'lastRestore' | 'offloadFailure'
>;

/** Returns the fields of its report. */
export function memoryReport({
  state,
  memory,
}: {
  state: WorkerState;
  memory: WorkerMemory | undefined;
}): MemoryFields {
  const level = memory?.isOffloaded ? StandbyLevel.HOST : StandbyLevel.GPU;
  return {
    standbyLevel: state === WorkerState.FROZEN ? level : StandbyLevel.UNSPECIFIED,
    gpuMemoryBytes: memory?.heldBytes ?? 0,
    lastOffload: memory?.lastOffload,
    lastRestore: memory?.lastRestore,
    offloadFailure: memory?.failure ? OffloadFailure[memory.failure] : OffloadFailure.UNSPECIFIED,
  };
}
