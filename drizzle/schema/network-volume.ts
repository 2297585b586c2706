/**
 * Network volumes: directories that outlive workers and pods. The files are on the machines. These rows hold the owner
 * and the data center.
 */
import { check, index, integer, pgTable, sql, text } from '../orm.ts';
import { account } from './account.ts';
import { instant } from './columns.ts';

export const networkVolume = pgTable(
  'network_volume',
  {
    /** 10 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    sizeGb: integer('size_gb').notNull(),
    /** Matches a location of machines. */
    dataCenterId: text('data_center_id').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (t) => [
    index('network_volume_account_idx').on(t.accountId, t.createdAt),
    check('network_volume_size_in_range', sql`${t.sizeGb} BETWEEN 0 AND 4096`),
  ],
);
