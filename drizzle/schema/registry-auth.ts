/** Credentials for private container registries. */
import { pgTable, text, unique } from '../orm.ts';
import { account } from './account.ts';
import { bytes, instant } from './columns.ts';

export const registryAuth = pgTable(
  'registry_auth',
  {
    /** 12 lowercase letters and digits. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** Encrypted RegistryCredentials message. */
    credentialsSealed: bytes('credentials_sealed').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (t) => [unique('registry_auth_name_unique').on(t.accountId, t.name)],
);
