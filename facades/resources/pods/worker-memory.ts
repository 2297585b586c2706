/** GPU memory of a worker that is shown as a pod: its level on standby, bytes and latest moves. Extensions. */
import type { GpuMove } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { Static } from 'typebox';
import { Type } from 'typebox';

const move = (description: string) =>
  Type.Optional(
    Type.Object(
      {
        bytes: Type.Integer({ description: 'GPU memory that was moved.' }),
        durationMs: Type.Integer({ description: 'How long it took, in milliseconds.' }),
      },
      { description },
    ),
  );

/** Members of a worker's record. */
export const WorkerMemory = Type.Object({
  standbyLevel: Type.Optional(
    Type.String({
      description: 'Only of a worker on standby: GPU or HOST, where its GPU memory is. An extension.',
    }),
  ),
  gpuMemoryBytes: Type.Optional(
    Type.Integer({
      description:
        'Only of a worker: GPU memory that it holds, or held before it went to host memory. Absent: unknown. ' +
        'An extension.',
    }),
  ),
  lastOffload: move('Only of a worker: its latest move to host memory. Absent: none yet. An extension.'),
  lastRestore: move('Only of a worker: its latest move back to its GPUs. Absent: none yet. An extension.'),
});

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
