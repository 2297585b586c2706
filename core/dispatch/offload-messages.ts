/** Offload of machines and workers between the agent contract and the domain. Nonsense counts as unknown. */

import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { GpuMove, GpuOffload } from '@slipway/proto/gen/slipway/v1/machine';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineOffload, OffloadFacts, StandbyMove } from '../domain/machines/standby.ts';
import { shortened } from '../domain/settings/fields.ts';

const REASON_LENGTH_MAX = 1_024;
/** Longest duration of a move that is believed, in milliseconds. */
const MOVE_MS_MAX = 86_400_000;

const FAILURES: Record<OffloadFailure, OffloadFacts['offloadFailure']> = {
  [OffloadFailure.UNSPECIFIED]: '',
  [OffloadFailure.NOT_ENOUGH_HOST_MEMORY]: 'NOT_ENOUGH_HOST_MEMORY',
  [OffloadFailure.TIMED_OUT]: 'TIMED_OUT',
  [OffloadFailure.DRIVER_ERROR]: 'DRIVER_ERROR',
  [OffloadFailure.UNSUPPORTED]: 'UNSUPPORTED',
  [OffloadFailure.NOT_ENOUGH_GPU_MEMORY]: 'NOT_ENOUGH_GPU_MEMORY',
  [OffloadFailure.WORKER_ENDED]: 'WORKER_ENDED',
  [OffloadFailure.INTERRUPTED]: 'INTERRUPTED',
};

/** Returns whether a machine can offload. Null: its agent does not know offload. */
export function offloadFromMessage(offload: GpuOffload | undefined): MachineOffload | null {
  if (!offload) return null;
  const { supported, unsupportedReason } = offload;
  const reason = shortened(unsupportedReason.replaceAll('\0', '').toWellFormed(), REASON_LENGTH_MAX);
  return {
    supported,
    unsupportedReason: supported ? '' : reason || 'its agent gives no reason',
    standbyMemoryBytes: bytesOf(offload.standbyMemoryBytes),
  };
}

/** Returns the level and the moves of a worker from its report. */
export function offloadFacts(report: WorkerReport): OffloadFacts {
  const { state, standbyLevel, gpuMemoryBytes, lastOffload, lastRestore, offloadFailure } = report;
  const level = standbyLevel === StandbyLevel.HOST ? 'HOST' : 'GPU';
  return {
    standbyReached: state === WorkerState.FROZEN ? level : '',
    gpuMemoryBytes: bytesOf(gpuMemoryBytes),
    lastOffload: moveOf(lastOffload),
    lastRestore: moveOf(lastRestore),
    offloadFailure: FAILURES[offloadFailure] ?? '',
  };
}

function moveOf(move: GpuMove | undefined): StandbyMove | undefined {
  if (!move || move.durationMs < 0 || move.durationMs > MOVE_MS_MAX) return undefined;
  return { bytes: bytesOf(move.bytes), ms: Math.round(move.durationMs) };
}

function bytesOf(bytes: number): number {
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : 0;
}
