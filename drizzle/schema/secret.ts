/** Secrets of accounts: named values that environments refer to. */
import { pgTable, text, unique } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const secret = pgTable(
  'secret',
  {
    /** 12 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    /** Encrypted value. */
    valueSealed: bytes('value_sealed').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    valueSetAt: instant('value_set_at').notNull().defaultNow(),
  },
  (t) => [unique('secret_name_unique').on(t.accountId, t.name)],
);
