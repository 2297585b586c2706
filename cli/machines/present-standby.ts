/** Presents the standby of workers and the offload of machines. */

import { printable } from '@slipway/kit/log/printable';
import type { GpuMove, GpuOffload, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';

/** Returns `FROZEN on its GPU`, `FROZEN in host memory`, `suspended`, or the plain state. */
export function standbyText({ state, standbyLevel, suspended }: Worker): string {
  const where = { [StandbyLevel.UNSPECIFIED]: '', [StandbyLevel.GPU]: '', [StandbyLevel.HOST]: ' in host memory' };
  return `${enumName(WorkerState, state)}${where[standbyLevel]}${suspended ? ', suspended' : ''}`;
}

/** Returns whether the GPUs of a worker are free for others: it is in host memory, and no operator suspended it. */
export function hasLeftGpus({ standbyLevel, suspended }: Worker): boolean {
  return standbyLevel === StandbyLevel.HOST && !suspended;
}

/** Returns the last moves: `10.0 GB, out in 5.3 s, back in 2.4 s`. Empty if it was never offloaded. */
export function movesText({ gpuMemoryBytes, lastOffload, lastRestore }: Worker): string {
  if (!lastOffload) return '';
  const took = (word: string, move: GpuMove | undefined): string[] =>
    move ? [`${word} in ${(move.durationMs / 1_000).toFixed(1)} s`] : [];
  return [gigabytes(gpuMemoryBytes), ...took('out', lastOffload), ...took('back', lastRestore)].join(', ');
}

/** Returns `10.0 of 256.0 GB of host memory`, or why a machine with GPUs cannot offload. */
export function offloadText(offload: GpuOffload | undefined): string {
  if (!offload) return 'no: its agent is older than this';
  if (!offload.supported) return `no: ${printable(offload.unsupportedReason)}`;
  return `${gigabytes(offload.standbyMemoryUsedBytes)} of ${gigabytes(offload.standbyMemoryBytes)} of host memory`;
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
