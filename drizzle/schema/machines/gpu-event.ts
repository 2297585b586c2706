/** History of the health of GPUs: a row for each change. */
import { bigint, check, index, pgTable, sql, text } from '../../orm.ts';
import { instant } from '../columns.ts';
import { machine } from '../machine.ts';

export const machineGpuEvent = pgTable(
  'machine_gpu_event',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    machineId: text('machine_id')
      .notNull()
      .references(() => machine.id, { onDelete: 'cascade' }),
    gpuUuid: text('gpu_uuid').notNull(),
    level: text('level').notNull(),
    /** Human-readable fault or warning. Empty if the GPU was healthy. */
    text: text('text').notNull(),
    at: instant('at').notNull().defaultNow(),
  },
  (t) => [
    index('machine_gpu_event_machine_idx').on(t.machineId, t.gpuUuid, t.id),
    check('machine_gpu_event_level_known', sql`${t.level} IN ('OK', 'WARNING', 'FAILED', 'CORDONED')`),
  ],
);
