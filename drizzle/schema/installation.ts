/** Facts about the whole database, in one row, which the first core that starts on it creates. */
import { boolean, check, pgTable, sql } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const installation = pgTable(
  'installation',
  {
    /** Always true: there is one row. */
    only: boolean('only').primaryKey().default(true),
    /** Identifies SLIPWAY_SECRET_KEY without revealing it. A core with another key does not start. */
    secretKeyFingerprint: bytes('secret_key_fingerprint').notNull(),
    /** Time at which all plaintext rows of releases without encryption had been encrypted. Null: not yet. */
    plainSealedAt: instant('plain_sealed_at'),
  },
  (t) => [check('installation_one_row', sql`${t.only}`)],
);
