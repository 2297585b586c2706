/** GPU memory of a worker that is shown as a pod: its level on standby, bytes and latest moves. Extensions. */
import type { GpuMove } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { Static } from 'typebox';
import type { WorkerMemory } from './worker-memory-schema.ts';

/** Names of levels. A worker that is not on standby has none. */
export const LEVELS: Readonly<Record<number, string>> = { [StandbyLevel.GPU]: 'GPU', [StandbyLevel.HOST]: 'HOST' };

/** Returns the members of a worker, as far as known. None for a pod. */
export function presentMemory({
  standbyLevel,
  gpuMemoryBytes,
  lastOffload,
  lastRestore,
}: Pick<Pod, 'standbyLevel' | 'gpuMemoryBytes' | 'lastOffload' | 'lastRestore'>): Static<typeof WorkerMemory> {
  const level = LEVELS[standbyLevel];
  return {
    ...(level !== undefined && { standbyLevel: level }),
    ...(gpuMemoryBytes > 0 && { gpuMemoryBytes }),
    ...(lastOffload && { lastOffload: moveOf(lastOffload) }),
    ...(lastRestore && { lastRestore: moveOf(lastRestore) }),
  };
}

function moveOf({ bytes, durationMs }: GpuMove): { bytes: number; durationMs: number } {
  return { bytes, durationMs };
}
