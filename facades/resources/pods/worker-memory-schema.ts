/** GPU memory of a worker that is shown as a pod, in the words of REST v1: extensions. */
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
