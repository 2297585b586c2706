/** Facts about the whole database; one row, made by the first core that starts on it. */
import { boolean, check, pgTable, sql } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const installation = pgTable(
  'installation',
  {
    /** Always true: there is one row. */
    only: boolean('only').primaryKey().default(true),
    /** Tells SLIPWAY_SECRET_KEY from others without giving it away. A core with another key does not start. */
    secretKeyFingerprint: bytes('secret_key_fingerprint').notNull(),
    /** When everything had been sealed that a release before sealing left in the clear. Null: not yet. */
    plainSealedAt: instant('plain_sealed_at'),
  },
  (t) => [check('installation_one_row', sql`${t.only}`)],
);
