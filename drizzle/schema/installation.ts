/** Facts about the whole database, in one row, which the first core that starts on it creates. */
import { boolean, check, pgTable, sql, text } from '../orm.ts';
import { bytes, instant } from './columns.ts';

export const installation = pgTable(
  'installation',
  {
    /** Always true: there is one row. */
    only: boolean('only').primaryKey().default(true),
    /** Identifies SLIPWAY_SECRET_KEY without revealing it. A core with another key does not start. */
    secretKeyFingerprint: bytes('secret_key_fingerprint').notNull(),
    /** The secret key before it, while rows may still be sealed with that. Null: none. */
    previousSecretKeyFingerprint: bytes('previous_secret_key_fingerprint'),
    /** Time of the latest change of the secret key. Null: it is the first one. */
    secretKeyRotatedAt: instant('secret_key_rotated_at'),
    /** Time at which all plaintext rows of releases without encryption had been encrypted. Null: not yet. */
    plainSealedAt: instant('plain_sealed_at'),
    /** Certificate of the installation's own authority in PEM. Null: no core has spoken TLS yet. */
    authorityCertificate: text('authority_certificate'),
    /** Its private key, sealed. */
    authorityKeySealed: bytes('authority_key_sealed'),
    /** The authority that will follow it: trusted already, and it signs for machines. Null: none is planned. */
    nextAuthorityCertificate: text('next_authority_certificate'),
    nextAuthorityKeySealed: bytes('next_authority_key_sealed'),
    nextAuthorityAt: instant('next_authority_at'),
    /** The authority before: machines may still show certificates of it. Null: none. */
    previousAuthorityCertificate: text('previous_authority_certificate'),
  },
  (t) => [
    check('installation_one_row', sql`${t.only}`),
    check('installation_authority_whole', sql`(${t.authorityCertificate} IS NULL) = (${t.authorityKeySealed} IS NULL)`),
  ],
);
