/**
 * Which worker or pod has which GPU. Kept by triggers on worker and pod, in the transaction of the change; the key is
 * what forbids two at once.
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
     * It has not ended. A frozen one that is to go has given its GPUs up: its agent lets nobody in before it has gone.
     */
    workerId: text('worker_id').references(() => worker.id, { onDelete: 'cascade' }),
    /** It shall run. */
    podId: text('pod_id').references(() => pod.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.machineId, t.gpuUuid] }),
    index('gpu_hold_worker_idx').on(t.workerId),
    index('gpu_hold_pod_idx').on(t.podId),
    check('gpu_hold_has_one_holder', sql`num_nonnulls(${t.workerId}, ${t.podId}) = 1`),
  ],
);
