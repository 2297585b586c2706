/**
 * GPU assignments of workers and pods. Triggers on worker and pod maintain them in the transaction of the change. The
 * primary key prevents two assignments of one GPU.
 */
import { check, index, pgTable, primaryKey, sql, text } from '../../orm.ts';
import { pod } from '../pod.ts';
import { worker } from '../worker.ts';

export const gpuHold = pgTable(
  'gpu_hold',
  {
    machineId: text('machine_id').notNull(),
    gpuUuid: text('gpu_uuid').notNull(),
    /**
     * A worker that has not ended. A standby worker that is to stop has released its GPUs: its agent admits no other
     * one before it has ended. One that is or shall be in host memory has none unless it is suspended.
     */
    workerId: text('worker_id').references(() => worker.id, { onDelete: 'cascade' }),
    /** A pod that should run. */
    podId: text('pod_id').references(() => pod.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.machineId, t.gpuUuid] }),
    index('gpu_hold_worker_idx').on(t.workerId),
    index('gpu_hold_pod_idx').on(t.podId),
    check('gpu_hold_has_one_holder', sql`num_nonnulls(${t.workerId}, ${t.podId}) = 1`),
  ],
);
