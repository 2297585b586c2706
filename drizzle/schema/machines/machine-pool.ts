/** Pools of machines: labels, locations and settings of machines that joined with tokens of one name. */
import { jsonb, pgTable, sql, text } from '../../orm.ts';
import { instant } from '../columns.ts';

/** Settings of a pool. For the meaning of each field see machine.proto, MachineSettings. */
export interface PoolSettingsRow {
  standbyMax?: number;
  standbyMemoryGb?: number;
  modelDiskGb?: number;
  imageDiskGb?: number;
}

export const machinePool = pgTable('machine_pool', {
  name: text('name').primaryKey(),
  labels: jsonb('labels').$type<Record<string, string>>().notNull().default({}),
  /** Locations of machines that have none of their own. */
  locations: text('locations').array().notNull().default(sql`'{}'`),
  settings: jsonb('settings').$type<PoolSettingsRow>().notNull().default({}),
  createdAt: instant('created_at').notNull().defaultNow(),
});
